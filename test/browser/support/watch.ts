/** What a page must not do, whatever a test does with it: complain, fail, ask other hosts, be hard to use. */

import type { Page } from "playwright-core";
import { inspect, type Inspector } from "./inspector.ts";

/** Watches the pages of one test. */
export class Watch {
  readonly #origin: string;
  readonly #problems: string[] = [];
  readonly #expected: RegExp[] = [];
  readonly #inspectors = new Map<Page, Inspector>();

  /** `origin` is the only one that pages may ask. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Begins with a page that has not been anywhere. Without script it cannot be inspected. */
  async over(page: Page, { scripted }: { scripted: boolean }): Promise<void> {
    const problem = (text: string) => void this.#problems.push(text);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) problem(`${message.location().url}: the console says "${message.text()}"`);
    });
    page.on("pageerror", (error) => problem(`${page.url()}: ${error.stack ?? error.message}`));
    page.on("dialog", (dialog) => {
      problem(`${page.url()}: a dialog says "${dialog.message()}"`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (/^(http|ws)/.test(protocol) && origin.replace(/^ws/, "http") !== this.#origin)
        problem(`${page.url()}: asked for ${request.url()}`);
    });
    if (scripted) this.#inspectors.set(page, await inspect(page, problem));
  }

  /** Looks at a page as it is now, changed since it was loaded. */
  async look(page: Page): Promise<void> {
    await this.#inspectors.get(page)?.look();
  }

  /** Something that the test brings about on purpose: it must come. */
  expect(problem: RegExp): void {
    this.#expected.push(problem);
  }

  /** All that was wrong, and what was expected and did not come. */
  async problems(): Promise<string[]> {
    for (const inspector of this.#inspectors.values()) await inspector.settled();
    const unexpected = this.#problems.filter((problem) => !this.#expected.some((pattern) => pattern.test(problem)));
    const missing = this.#expected.filter((pattern) => !this.#problems.some((problem) => pattern.test(problem)));
    return [...new Set(unexpected), ...missing.map((pattern) => `did not come: ${String(pattern)}`)];
  }
}
