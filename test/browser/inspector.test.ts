/** The page checks themselves: the problems that they report. */

import { expect, test } from "./support/test.ts";
import { Watch } from "./support/watch.ts";

const bad = `<!doctype html><html><title>Bad</title><body>
  <p style="color: #ccc; background: #fff">Hardly seen</p>
  <input>
  <div style="width: 3000px">Wide</div>
  <button class="btn" style="font-size: 0">Copy</button>
  <img src="http://192.0.2.1/picture.png" alt="">
  <script>console.error("a complaint"); queueMicrotask(() => { throw new Error("a fault") })</script>`;

test("bad contrast, an unlabelled field, an empty button, horizontal scrolling, console errors, failed requests and other hosts are all reported", async ({
  elsewhere,
  browser,
}) => {
  const address = (await elsewhere(bad)).url();
  const context = await browser.newContext();
  const page = await context.newPage();
  const watch = new Watch(new URL(address).origin);
  await page.route("http://192.0.2.1/**", (route) => route.abort());
  await watch.over(page, { scripted: true });
  await page.goto(address);
  const problems = await watch.problems();
  await context.close();
  for (const pattern of [
    /color-contrast: <p /,
    /label: <input>/,
    /html-has-lang/,
    /is 3\d{3} pixels wide/,
    /shows nothing: <button /,
    /a complaint/,
    /a fault/,
    /asked for http:\/\/192\.0\.2\.1/,
  ])
    expect(problems).toContainEqual(expect.stringMatching(pattern));
});

test("a page that breaks after loading is reported when it is checked; an expected problem that does not occur is reported too", async ({
  elsewhere,
  browser,
}) => {
  const address = (await elsewhere(`<!doctype html><html lang="en"><title>Good</title><main><h1>Good</h1></main>`)).url();
  const context = await browser.newContext();
  const page = await context.newPage();
  const watch = new Watch(new URL(address).origin);
  await watch.over(page, { scripted: true });
  await page.goto(address);
  expect(await watch.problems()).toEqual([]);
  await page.evaluate(() => document.querySelector("main")!.append(document.createElement("input")));
  watch.expect(/never said/);
  await watch.look(page);
  expect(await watch.problems()).toEqual([expect.stringMatching(/label: <input>/), "did not come: /never said/"]);
  await context.close();
});
