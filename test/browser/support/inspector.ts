/** Checks every page that a browser loads: axe's rules, no horizontal scrolling, and no columns beside a table. */

import axe from "axe-core";
import type { Page } from "playwright-core";

const world = "inspector";
/** The attribute of a document that has been checked: clicks and typing wait for it. */
const mark = "data-inspected";
const patienceMs = 20_000;

/** The results of an inspector, and checks on request. */
export interface Inspector {
  /** Resolves when the current page has been checked after loading. */
  settled(): Promise<void>;
  /** Checks the page in its current state. */
  look(): Promise<void>;
}

/** Checks each document that the page loads from now on. */
export async function inspect(page: Page, report: (finding: string) => void): Promise<Inspector> {
  const cdp = await page.context().newCDPSession(page);
  const open = new Map<number, () => void>();
  let settled = Promise.resolve();
  let latest = 0;
  const tell = (findings: string[]) => findings.forEach((finding) => report(`${page.url()}: ${finding}`));

  // Runs in an isolated world of each new document, so that its Content-Security-Policy and scripts do not change.
  cdp.on("Runtime.executionContextCreated", ({ context: { id, name } }) => {
    if (name !== world) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    open.set((latest = id), resolve);
    settled = within(promise, () => report(`${page.url()}: was not looked at in time`));
  });
  cdp.on("Runtime.bindingCalled", ({ executionContextId, payload }) => {
    tell(JSON.parse(payload) as string[]);
    open.get(executionContextId)?.();
    open.delete(executionContextId);
  });
  await cdp.send("Page.enable");
  await cdp.send("Runtime.enable");
  await cdp.send("Runtime.addBinding", { name: "tellInspector", executionContextName: world });
  await cdp.send("Page.addScriptToEvaluateOnNewDocument", {
    worldName: world,
    source: `${axe.source};(${inDocument.toString()})(axe, globalThis, "${mark}")`,
  });
  // A fast test may leave a document before its load event: navigation by the test waits until the check is done.
  await page.addLocatorHandler(page.locator(`html:not([${mark}])`), () => settled, { noWaitAfter: true });
  await page.route("**", async (route) => {
    if (route.request().isNavigationRequest()) await settled;
    await route.continue();
  });

  return {
    settled: () => settled,
    look: async () => {
      await settled;
      const { result, exceptionDetails } = await cdp.send("Runtime.evaluate", {
        contextId: latest,
        expression: "lookAround()",
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      tell(result.value as string[]);
    },
  };
}

async function within(promise: Promise<void>, late: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const lapse = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late();
      resolve();
    }, patienceMs);
  });
  await Promise.race([promise, lapse]);
  clearTimeout(timer);
}

/** Runs in the document. */
function inDocument(
  rules: typeof axe,
  own: { lookAround?: () => Promise<string[]>; tellInspector?: (findings: string) => void },
  mark: string,
) {
  const lookAround = async () => {
    // Documents that are not pages of ours: an image, JSON, the empty page.
    if (window.top !== window || document.contentType !== "text/html" || !location.protocol.startsWith("http")) return [];
    const { violations, incomplete } = await rules.run(document, { resultTypes: ["violations", "incomplete"] });
    const findings = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`),
    );
    // A ground that hides the contrast from the check. Of text on images nothing can be said, and of single letters little.
    for (const { html, any } of incomplete.find(({ id }) => id === "color-contrast")?.nodes ?? [])
      for (const { data } of any)
        if (/^(bgGradient|fgAlpha|pseudoContent)$/.test((data as { messageKey?: string } | null)?.messageKey ?? ""))
          findings.push(`the contrast cannot be told (${(data as { messageKey: string }).messageKey}): ${html}`);
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) findings.push(`is ${scrollWidth} pixels wide in a window of ${clientWidth}`);
    // On a phone, wide tables scroll.
    for (const table of document.querySelectorAll(".table"))
      if (innerWidth >= 1280 && table.scrollWidth > table.clientWidth) findings.push(`a table hides columns: ${table.ariaLabel}`);
    // Where there is no room for the words of a button, its icon remains.
    for (const button of document.querySelectorAll(".btn"))
      if (getComputedStyle(button).fontSize === "0px" && button.checkVisibility() && !button.querySelector(".i")?.checkVisibility())
        findings.push(`a button shows nothing: ${button.outerHTML}`);
    return findings;
  };
  own.lookAround = lookAround;
  const tell = (findings: string[]) => {
    own.tellInspector!(JSON.stringify(findings));
    document.documentElement.setAttribute(mark, "");
  };
  addEventListener("load", () => {
    lookAround().then(tell, (error: unknown) => tell([String(error)]));
  });
}
