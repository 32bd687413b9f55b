/** Problems that no page may have, whatever the test does: console errors, failed requests, requests to other hosts, accessibility faults. */

import type { Page } from "playwright-core";
import { inspect, type Inspector } from "./inspector.ts";

/** Watches the pages of one test. */
export class Watch {
  readonly #origin: string;
  readonly #problems: string[] = [];
  readonly #expected: RegExp[] = [];
  readonly #inspectors = new Map<Page, Inspector>();

  /** `origin` is the only host that pages may call. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Watches a new page from before its first navigation. Without script it cannot be inspected. */
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

  /** Checks a page again in its current state. */
  async look(page: Page): Promise<void> {
    await this.#inspectors.get(page)?.look();
  }

  /** Declares a problem that the test causes on purpose: it must occur. */
  expect(problem: RegExp): void {
    this.#expected.push(problem);
  }

  /** All problems, and the expected ones that did not occur. */
  async problems(): Promise<string[]> {
    for (const inspector of this.#inspectors.values()) await inspector.settled();
    const unexpected = this.#problems.filter((problem) => !this.#expected.some((pattern) => pattern.test(problem)));
    const missing = this.#expected.filter((pattern) => !this.#problems.some((problem) => pattern.test(problem)));
    return [...new Set(unexpected), ...missing.map((pattern) => `did not come: ${String(pattern)}`)];
  }
}
