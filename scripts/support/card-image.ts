/** The images by which other sites show a link to the gateway: the card of previews, 1200 by 630, and the icon of home screens, 180 by 180. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";

/** Services that show previews refuse or skip larger ones. */
const maxBytes = 100_000;

/** Hills without gradients: PNG stores plain areas in few bytes. */
const hills = `<svg viewBox="0 0 1200 300" preserveAspectRatio="none">
  <path fill="#cfd0f7" d="M0 150C160 60 300 70 460 120S760 190 900 110s220-60 300-20v210H0z"/>
  <path fill="#9fa1ee" d="M0 200c140-70 280-60 420-10s300 70 460 0 240-70 320-30v140H0z"/>
  <path fill="#6f72e2" d="M0 240c180-70 340-30 520 0s420-60 680-10v70H0z"/>
  <path fill="#4a4cd9" d="M0 280c220-50 420-30 640-10s360-30 560-10v40H0z"/>
</svg>`;

const gate = `<svg viewBox="0 0 16 16" fill="none" stroke="STROKE" stroke-width="2" stroke-linecap="round"><path d="M2 14V8a6 6 0 0 1 12 0v6M5.5 14V8.2a2.5 2.5 0 0 1 5 0V14"/></svg>`;

const card = (font: string) => `<!doctype html>
<style>
  @font-face { font-family: Inter; src: url("data:font/woff2;base64,${font}"); font-weight: 100 900 }
  body { margin: 0; height: 100vh; overflow: hidden; background: #fff; color: #17171c; font: 600 64px/1.12 Inter; letter-spacing: -0.03em; position: relative }
  p { margin: 0; padding: 72px 80px 28px; display: flex; align-items: center; gap: 14px; font-size: 34px; letter-spacing: -0.02em }
  p svg { width: 46px }
  h1 { margin: 0; padding: 0 80px; font: inherit; max-width: 1000px; text-wrap: balance }
  i { position: absolute; width: 130px; height: 130px; border-radius: 50%; background: #ffd9a3; left: 880px; bottom: 128px }
  body > svg { position: absolute; inset: auto 0 0; width: 1200px; height: 250px }
</style>
<p>${gate.replace("STROKE", "#4a4cd9")}Gateway</p>
<h1>One API for text, images and videos, on your own Cloudflare account</h1>
<i></i>${hills}`;

/** iOS rounds the corners itself, and shows transparent ones black. */
const icon = `<!doctype html>
<style>body { margin: 0; height: 100vh; display: grid; place-items: center; background: #4a4cd9 } svg { width: 108px }</style>
${gate.replace("STROKE", "#fff")}`;

/** Draws both as PNG. Throws if one is larger than previews allow. */
export async function cardImages(browser: Browser): Promise<{ card: Buffer; icon: Buffer }> {
  const inter = createRequire(import.meta.url).resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");
  const font = (await readFile(inter)).toString("base64");
  const draw = async (html: string, width: number, height: number) => {
    const page = await browser.newPage({ viewport: { width, height } });
    await page.setContent(html, { waitUntil: "networkidle" });
    await page.evaluate(() => document.fonts.ready.then(() => undefined));
    const png = await page.screenshot();
    await page.close();
    if (png.byteLength > maxBytes) throw new Error(`a card has ${png.byteLength} bytes, allowed are ${maxBytes}`);
    return png;
  };
  return { card: await draw(card(font), 1200, 630), icon: await draw(icon, 180, 180) };
}
