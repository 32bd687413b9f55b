/** Moves through a page by keyboard, and checks that the focus is visible. */

import type { Page } from "playwright-core";

const maxStops = 60;

/** Presses Tab until the element with this selector has the focus. Throws if a stop looks the same with and without the focus. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  await page.waitForLoadState();
  const looks = await page.evaluateHandle(() => {
    const look = (element: Element) => {
      // A file input shows the focus on its button.
      const part = element.matches("input[type=file]") ? "::file-selector-button" : undefined;
      const { outline, boxShadow, backgroundColor, borderColor, textDecoration } = getComputedStyle(element, part);
      return [outline, boxShadow, backgroundColor, borderColor, textDecoration].join();
    };
    const all = [...document.querySelectorAll("*")].filter((element) => element !== document.activeElement);
    return { look, before: new Map(all.map((element) => [element, look(element)])) };
  });
  const stops: string[] = [];
  while (stops.length < maxStops) {
    await page.keyboard.press("Tab");
    const stop = await looks.evaluate(({ look, before }, selector) => {
      const focused = document.activeElement ?? document.body;
      const shows = focused === document.body || before.get(focused) !== look(focused);
      return { there: focused.matches(selector), element: focused.outerHTML.slice(0, 120), shows };
    }, selector);
    if (!stop.shows) throw new Error(`The focus cannot be seen at ${stop.element}`);
    if (stop.there) return;
    stops.push(stop.element);
  }
  throw new Error(`Tab does not lead to ${selector}, but to:\n${stops.join("\n")}`);
}
