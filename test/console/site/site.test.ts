/** The public pages: the answers to browsers and to programs, and that all links work. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { builtInCatalog } from "../../../src/catalog/catalog.ts";
import { pages } from "../../../src/console/pages.tsx";
import { docPath, moved, pageNames } from "../../../src/console/site/contents.ts";
import { pageHead } from "../../../src/console/site/docs.ts";
import { tagPath, tags } from "../../../src/console/site/openapi.ts";
import gateway from "../../../src/worker.ts";
import { Browser, signedUp } from "../support.ts";

const html = { accept: "text/html,application/xhtml+xml" };
const base = "https://gateway.example";

const pagePaths = [
  "/",
  ...pageNames.map(docPath),
  "/docs/models",
  ...builtInCatalog().live.map(({ id }) => `/docs/models/${id}`),
  "/docs/reference",
  ...tags.map(({ name }) => tagPath(name)),
];

const ask = (path: string, headers: Record<string, string> = html) => new Browser().ask(path, undefined, null, headers);

/** Elements without an end tag, by the HTML standard. */
const isVoid = (name: string) => /^(?:meta|link|img|input|br|hr|col|source|track|path|circle)$/.test(name);

/** Tags that are not closed in their order: parsers would correct them in different ways. */
function unclosed(page: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, end, name = "", isEmpty] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)(?:"[^"]*"|[^">])*?(\/?)>/g)) {
    if (end) {
      if (open.pop() !== name) wrong.push(name);
    } else if (!isEmpty && !isVoid(name)) open.push(name);
  }
  return [...wrong, ...open];
}

test.each(pagePaths)("%s is a whole page with one title, and all its links work", async (path) => {
  const response = await ask(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/html/);
  const text = await response.text();
  expect(unclosed(text)).toEqual([]);
  expect(text.match(/<h1[ >]/g)).toHaveLength(1);
  expect(text).toMatch(/<meta name="description" content="[^"]{15,}/);
  expect(text).not.toContain("{{");
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  const links = new Set([...text.matchAll(/ (?:href|src|poster)="([^"]+)"/g)].map(([, to = ""]) => new URL(to, base + path)));
  expect([...links].filter(({ origin }) => origin !== base).map(String)).toEqual(
    {
      "/docs/webhooks": ["https://www.standardwebhooks.com/"],
      "/docs/operate/deploy": ["https://c2pa.org/conformance/"],
      "/docs/changelog": ["https://keepachangelog.com/en/1.1.0/", "https://semver.org/"],
      "/docs/marks": [
        "https://c2pa.org/conformance/",
        "https://eur-lex.europa.eu/eli/reg/2024/1689/oj",
        "https://eur-lex.europa.eu/eli/reg/2026/1744/oj",
        "https://www.cac.gov.cn/2025-03/14/c_1743654684782215.htm",
        "https://www.law.go.kr/lsInfoP.do?lsiSeq=268543",
        "https://leginfo.legislature.ca.gov/faces/billNavClient.xhtml?bill_id=202320240SB942",
        "https://leginfo.legislature.ca.gov/faces/billNavClient.xhtml?bill_id=202520260AB853",
        "https://github.com/Opencomplai/opencomplai/releases/tag/v0.13.1",
        "https://sesec.eu/2025/news-events/news/china-issued-new-mandatory-national-standard-and-measures-for-the-labeling-of-content-generated-by-artificial-intelligence",
        "https://compliancert.com/articles/chinas-new-ai-content-labeling-rules-what-global-companies-need-to-know",
        "https://shinkim.com/eng/media/newsletter/3190?page=0",
        "https://www.digitaltoday.co.kr/en/view/1740/south-korea-to-enforce-ai-framework-act-requiring-watermarking-of-ai-generated-content",
        "https://world.kbs.co.kr/service/news_view.htm?lang=e&#38;Seq_Code=199017",
        "https://opencalaccess.org/leginfo/bill_info/20250AB85393CHP",
        "https://legilist.com/states/california/bill/2025-2026/ab-853",
        "https://legilist.com/states/california/bill/2025-2026/sb-1000/",
      ],
    }[path] ?? [],
  );
  for (const { pathname, hash } of [...links].filter(({ origin }) => origin === base)) {
    // Pages that need a login redirect to the sign-in page; pages of other Workers do not exist here.
    if (/^\/(console(?!\/static)|mcp|v1)/.test(pathname)) continue;
    if (pathname === path) expect(hash === "" || ids.includes(decodeURIComponent(hash.slice(1))), `${path} links to ${hash}`).toBe(true);
    else await leadsSomewhere(pathname, hash, path);
  }
});

const seen = new Map<string, Promise<{ status: number; text: string }>>();

async function leadsSomewhere(pathname: string, hash: string, from: string): Promise<void> {
  const asked = seen.get(pathname) ?? ask(pathname).then(async (answer) => ({ status: answer.status, text: await answer.text() }));
  seen.set(pathname, asked);
  const { status, text } = await asked;
  expect(status, `${from} links to ${pathname}`).toBe(200);
  if (hash !== "" && text.startsWith("<!doctype")) expect(text, `${from} links to ${pathname}${hash}`).toContain(` id="${hash.slice(1)}"`);
}

test("public pages have the console's security headers, and load nothing from other hosts", async () => {
  const { headers } = await ask("/docs");
  const policy = headers.get("content-security-policy")!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const text = await (await ask("/")).text();
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style="| on\w+="/);
});

test("programs get links at /, browsers a page, and other methods are refused", async () => {
  for (const accept of ["*/*", "application/json", ""]) {
    const response = await ask("/", accept === "" ? {} : { accept });
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(response.headers.get("vary")).toContain("Accept");
    expect(await response.json()).toEqual({
      object: "gateway",
      api: `${base}/v1`,
      models: `${base}/v1/models`,
      health: `${base}/healthz`,
      docs: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      llms: `${base}/llms.txt`,
    });
  }
  const refused = await gateway.fetch(new Request(base, { method: "POST" }), env, createExecutionContext());
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("without the console / has only the API's links", async () => {
  const { CONSOLE: _, ...without } = env;
  const get = (path: string) => gateway.fetch(new Request(base + path, { headers: html }), without, createExecutionContext());
  expect(await (await get("/")).json()).toEqual({
    object: "gateway",
    api: `${base}/v1`,
    models: `${base}/v1/models`,
    health: `${base}/healthz`,
  });
  for (const path of ["/docs", "/docs/tasks", "/llms.txt", "/robots.txt", "/favicon.svg"]) {
    const response = await get(path);
    expect(response.status, path).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
  }
});

test("public pages recognize a signed-in user: the console's button instead of signing in; with an old session they do not", async () => {
  const { browser } = await signedUp();
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const bar = async (path: string, headers: Record<string, string>) => {
    const response = await ask(path, headers);
    expect(response.status, path).toBe(200);
    const [links = ""] = /<header class="pub">.*?<\/header>/s.exec(await response.text()) ?? [];
    return { cache: response.headers.get("cache-control"), links };
  };
  for (const path of ["/", "/docs", "/docs/models", "/docs/reference", "/status", "/verify"]) {
    const known = await bar(path, { ...html, cookie });
    expect(known.links, path).toContain('href="/console"');
    expect(known.links, path).not.toMatch(/sign-(in|up)/);
    // No shared cache may give this page to someone else.
    expect(known.cache, path).toBe("private, no-cache");
    expect((await bar(path, html)).links, path).toContain('href="/console/sign-in"');
  }
  await browser.ask("/console/sign-out", {});
  expect((await bar("/", { ...html, cookie })).links).toContain('href="/console/sign-in"');
});

test.each(["en", "zh", "ko", "ja"])("/verify has the places of a file's values within its sentences: %s", async (language) => {
  const text = await (await ask("/verify", { ...html, "accept-language": language })).text();
  const sentences = [...text.matchAll(/<span data-if="(?:signer|stamped|stated)">(.*?)<\/span>/gs)].map(([, inner]) => inner);
  expect(sentences.length).toBeGreaterThanOrEqual(3);
  for (const sentence of sentences) expect(sentence).toMatch(/^[^<{]*<bdi data-slot="\w+"><\/bdi>[^<}]*[^<}\s][^<}]*$/);
});

/** The value of a tag in the head: `property="og:title"`. */
const readTag = (text: string, tag: string) =>
  new RegExp(`<(?:meta|link) ${tag.replace(/[[\]]/g, "\\$&")} (?:content|href)="([^"]*)"`).exec(text)?.[1];

test("each public page has its address, and a title, a sentence and a picture for previews", async () => {
  for (const path of ["/", "/docs/tasks", "/docs/models/vidA-2", "/verify"]) {
    const text = await (await ask(`${path}?utm_source=mail`)).text();
    expect(readTag(text, 'rel="canonical"'), path).toBe(base + path);
    expect(readTag(text, 'property="og:url"'), path).toBe(base + path);
    expect(readTag(text, 'property="og:title"'), path).toBe(/<title>(.*) · Gateway<\/title>/.exec(text)?.[1]);
    expect(readTag(text, 'property="og:description"'), path).toBe(readTag(text, 'name="description"'));
  }
  const text = await (await ask("/")).text();
  for (const [tag, width, height] of [
    ['property="og:image"', 1200, 630],
    ['rel="apple-touch-icon"', 180, 180],
  ] as const) {
    const picture = await ask(new URL(readTag(text, tag)!, base).pathname, {});
    expect(picture.headers.get("content-type"), tag).toBe("image/png");
    const bytes = await picture.arrayBuffer();
    expect(bytes.byteLength, tag).toBeLessThan(100_000);
    const header = new DataView(bytes);
    expect([header.getUint32(16), header.getUint32(20)], tag).toEqual([width, height]);
  }
});

test("the landing page says whose account it runs on, and tells what a rescue costs", async () => {
  const text = await (await ask("/")).text();
  expect(/<h1>([^<]+)</.exec(text)?.[1]).toContain("on your own Cloudflare account");
  expect(text.match(/<ol class="story">.*?<\/ol>/s)?.[0].match(/<figure/g)).toHaveLength(4);
  expect(text).toContain("$1.20, once");
  for (const command of ["npx wrangler login", "npm run deploy"]) expect(text).toContain(command);
});

test("the film needs no player: without script there is a still and a link to it", async () => {
  const text = await (await ask("/")).text();
  const [film = ""] = /<video[^>]*>/.exec(text) ?? [];
  expect(film).toMatch(/ muted/);
  expect(film).toMatch(/ loop/);
  expect(film).toMatch(/ poster="/);
  expect(film).not.toMatch(/ (controls|autoplay)/);
  expect(text).toMatch(/<a class="btn icon" href="\/console\/static\/hills\.[0-9a-f]{10}\.mp4" data-film-link/);
});

test("the prices are those of the available models", async () => {
  const text = await (await ask("/")).text();
  for (const { id } of builtInCatalog().live) expect(text).toContain(`href="/docs/models/${id}"`);
  expect(text).toMatch(/\$0\.03 <span class="muted">per image<\/span>/);
  // Chinese and Japanese name the unit first: an amount before "1 秒あたり" would read as one number.
  const japanese = await (await ask("/", { ...html, "accept-language": "ja" })).text();
  expect(japanese).toContain('<span class="muted">1 秒あたり</span> $0.10');
  expect((await ask("/docs/models/imgC-alias-pro")).status).toBe(200);
  expect((await ask("/docs/models/none")).status).toBe(404);
});

test("samples contain the URL at which the gateway was reached", async () => {
  const other = new Request("https://api.example.org/docs", { headers: html });
  const text = await (await pages.fetch(other, env, createExecutionContext())).text();
  expect(text).toContain("https://api.example.org/v1/images/generations");
  expect(text).not.toContain(base);
});

test.each(["zh", "ko", "ja"])("the landing page and the frame of the documentation are in %s", async (language) => {
  const texts = await Promise.all(["/", "/docs"].map(async (path) => (await ask(path, { ...html, "accept-language": language })).text()));
  for (const text of texts) expect(text).toContain(`<html lang="${language}"`);
  expect(texts[0]).not.toContain("One API");
  expect(texts[1]).toContain('<article lang="en">');
});

test("choosing a language on a public page leads back to that page", async () => {
  const browser = new Browser();
  const after = async (referer: string) =>
    (await browser.ask("/console/language?to=ko", undefined, null, { referer })).headers.get("location");
  expect(await after(`${base}/docs/tasks`)).toBe("/docs/tasks");
  expect(await after(`${base}/`)).toBe("/");
  expect(await (await browser.ask("/docs", undefined, null, html)).text()).toContain('<html lang="ko"');
});

test("every page of the documentation is available as Markdown", async () => {
  for (const name of pageNames) {
    const { title } = pageHead(name);
    const response = await ask(`/docs/${name}.md`, {});
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(await response.text()).toMatch(new RegExp(`^# ${title.replace(/[()]/g, "\\$&")}\n`));
  }
  for (const name of ["none.md", "constructor.md", "landing.md", "none", "__proto__", "index"])
    expect((await ask(`/docs/${name}`)).status, name).toBe(404);
});

test("llms.txt has a title, a summary and working links", async () => {
  const text = await (await ask("/llms.txt", {})).text();
  expect(text).toMatch(/^# Gateway\n\n> .+\n/);
  const links = [...text.matchAll(/\]\((https:[^)]+)\): \S/g)].map(([, to = ""]) => new URL(to).pathname);
  expect(links.length).toBeGreaterThan(pageNames.length);
  for (const path of links.filter((one) => one !== "/mcp")) expect((await ask(path)).status, path).toBe(200);
});

test("robots may read the pages, but neither files nor the console", async () => {
  const text = await (await ask("/robots.txt", {})).text();
  for (const path of ["/assets", "/characters", "/console", "/admin", "/v1"]) expect(text).toContain(`Disallow: ${path}\n`);
  expect((await ask("/favicon.svg", {})).headers.get("content-type")).toBe("image/svg+xml");
});

test("pages that have moved redirect, also as Markdown", async () => {
  for (const [from, to] of Object.entries(moved)) {
    const answer = await ask(`${from}?a=b`);
    expect([answer.status, answer.headers.get("location")], from).toEqual([301, `${to}?a=b`]);
    expect((await ask(to)).status, to).toBe(200);
  }
  expect((await ask("/docs/callbacks.md")).headers.get("location")).toBe("/docs/webhooks.md");
});

test("with the repository's address pages have a link to edit them, and links to its other files; without it neither", async () => {
  const open = (path: string, vars: Partial<ConsoleEnv>) =>
    new Browser(vars).ask(path, undefined, null, html).then((answer) => answer.text());
  const repository = "https://git.example/team/gateway";
  const guide = await open("/docs/tasks", { REPOSITORY_URL: repository });
  expect(guide).toContain(`href="${repository}/edit/main/src/console/site/docs/tasks.md"`);
  const runbook = await open("/docs/operate/operations", { REPOSITORY_URL: repository });
  expect(runbook).toContain(`href="${repository}/edit/main/docs/operations.md"`);
  expect(runbook).toMatch(new RegExp(`<a href="${repository}/blob/main/docs/design/\\w+\\.md`));
  expect(await open("/docs/operate/operations", {})).not.toMatch(/href="[^"]*(?:design\/|\/(?:edit|blob)\/main)/);
});

test("every block of code on a page can be copied", async () => {
  for (const name of ["tasks", "n8n", "operate/deploy"]) {
    const text = await (await ask(docPath(name))).text();
    const blocks = [...text.matchAll(/<code id="(code-[\w-]+)">/g)].map(([, id]) => id);
    expect(blocks.length, name).toBe(text.match(/<pre /g)?.length);
    for (const id of blocks) expect(text, `${name} ${id}`).toContain(`data-copy="${id}"`);
  }
});

test("a trailing slash redirects to the page without it, and an unknown page is 404 with the contents", async () => {
  const response = await ask("/docs/tasks/?a=b");
  expect([response.status, response.headers.get("location")]).toEqual([301, "/docs/tasks?a=b"]);
  const missing = await ask("/docs/none/more");
  expect(missing.status).toBe(404);
  expect(await missing.text()).toContain('href="/docs/tasks"');
});

test("a browser gets a page for an address without one; programs and the API's paths get JSON", async () => {
  for (const path of ["/nothing", "/a/b", "/asset", "/nothing?x=1"]) {
    const page = await ask(path);
    expect([page.status, page.headers.get("content-type")], path).toEqual([404, "text/html; charset=UTF-8"]);
    expect(unclosed(await page.text()), path).toEqual([]);
    expect((await ask(path, { accept: "*/*" })).headers.get("content-type"), path).toBe("application/json");
  }
  for (const path of ["/v1", "/v1/nothing", "/openai/v1/nothing", "/mcp/nothing"])
    expect((await ask(path)).headers.get("content-type"), path).toBe("application/json");
  expect((await ask("/admin/nothing")).status).toBe(401);
});

test("an address that begins with two slashes never leads to another site", async () => {
  for (const path of ["//other.example/", "//other.example//", "///other.example/", "/%2Fother.example/"])
    expect((await ask(path)).headers.get("location") ?? "/", path).not.toMatch(/^(\/\/|\/\\|https?:)/);
});

test("a browser that opens a link of a file which does not work gets a page with its status; a program gets JSON", async () => {
  for (const path of ["/assets/a/b.png?expires=1&digest=a&signature=b", "/characters/a/b.png"]) {
    const page = await ask(path, { ...html, "accept-language": "ja" });
    expect([page.status, page.headers.get("content-type")], path).toEqual([403, "text/html; charset=UTF-8"]);
    expect(await page.text(), path).toContain('<html lang="ja"');
    expect(((await (await ask(path, { accept: "image/*,*/*;q=0.8" })).json()) as { error: { code: string } }).error.code).toBe(
      "invalid_signature",
    );
  }
});

test("no part of a URL becomes markup in a public page or a header of its answer", async () => {
  const script = `"'><script>alert(1)</script>`;
  for (const path of [
    "/",
    "/docs",
    `/docs/${encodeURIComponent(script)}`,
    "/docs/models/x",
    `/docs/reference/${encodeURIComponent(script)}`,
  ]) {
    const response = await ask(`${path}?language=${encodeURIComponent(`${script}\r\nx-made: up`)}`);
    expect(response.headers.has("x-made")).toBe(false);
    expect(await response.text()).not.toContain("<script>alert");
  }
});

test("the sample video on a model's page has captions for its sound", async () => {
  const text = await (await ask("/docs/models/vidA-2")).text();
  const [, path = ""] = /<track kind="captions"[^>]* src="([^"]+)"/.exec(text) ?? [];
  const captions = await ask(path, {});
  expect(captions.headers.get("content-type")).toBe("text/vtt; charset=utf-8");
  expect(await captions.text()).toMatch(/^WEBVTT\n\n[\d:.]+ --> [\d:.]+\n\[.+\]\n$/);
});

test("a video supports range requests", async () => {
  const [path = ""] = /\/console\/static\/hills\.[0-9a-f]{10}\.mp4/.exec(await (await ask("/")).text())!;
  const whole = new Uint8Array(await (await ask(path, {})).arrayBuffer());
  const part = await ask(path, { range: "bytes=4-7" });
  expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 4-7/${whole.length}`]);
  expect(await part.text()).toBe("ftyp");
  const end = await ask(path, { range: `bytes=${whole.length - 4}-` });
  expect(new Uint8Array(await end.arrayBuffer())).toEqual(whole.slice(-4));
  for (const range of ["bytes=9-4", "bytes=-5", `bytes=${whole.length}-`, "pages=1-2"])
    expect((await ask(path, { range })).status, range).toBe(200);
});

test("each operation has a page with its samples in three languages, its fields unfolded in place, and its errors as examples", async () => {
  const browser = new Browser();
  const group = await browser.read("/docs/reference/generations");
  expect(group).toContain('href="/docs/reference/generations/createImage" id="createImage"');
  const page = await browser.read("/docs/reference/generations/createImage");
  expect(page).toContain("<h1>Make images</h1>");
  for (const title of ["curl", "Python", "JavaScript"]) expect(page).toMatch(new RegExp(`/>${title}</label>`));
  expect(page).toMatch(/<details><summary>\d+ (fields|kinds)<\/summary>/);
  for (const status of ["200", "402", "429"]) expect(page).toMatch(new RegExp(`/>${status}</label>`));
  expect(page).toContain("insufficient_quota");
  // A visitor is led to the sign-in, and from there back; nothing can be sent.
  expect(page).toContain('href="/console/sign-in?to=%2Fdocs%2Freference%2Fgenerations%2FcreateImage"');
  expect(page).not.toContain("/console/try/");
  expect((await browser.ask("/docs/reference/generations/nothing")).status).toBe(404);
  expect((await browser.ask("/docs/reference/tasks/createImage")).status).toBe(404);
});

test("every operation's page is small and has a sample that can be copied", async () => {
  const browser = new Browser();
  const { paths } = (await (await browser.ask("/openapi.json")).json()) as {
    paths: Record<string, Record<string, { operationId: string; tags: string[]; "x-codeSamples": { lang: string }[] }>>;
  };
  for (const { operationId, tags, "x-codeSamples": samples } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const page = await browser.read(`/docs/reference/${tags[0]}/${operationId}`);
    expect(page.length, operationId).toBeLessThan(250_000);
    expect(
      samples.map(({ lang }) => lang),
      operationId,
    ).toContain("Shell");
    expect(page, operationId).toContain('data-copy="sample-sh"');
    expect(page, operationId).not.toMatch(/\[object Object\]|undefined</);
  }
});

test("a user tries an operation at the price on its button; a stranger, a write and an unknown operation cannot be tried", async () => {
  const { browser } = await signedUp();
  const page = await browser.read("/docs/reference/generations/createImage");
  expect(page).toContain('action="/console/try/createImage"');
  expect(page).toContain("Send · $0.03");
  expect(await browser.read("/docs/reference/models/listModels")).toContain("Send · no charge");
  const listed = await (await browser.ask("/console/try/listModels", {}, "https://gateway.example", { "hx-request": "true" })).text();
  expect(listed).toContain("imgA-4");
  expect(listed).not.toContain("<html");
  // Without script the answer is a page.
  expect(await (await browser.ask("/console/try/listTasks", {})).text()).toContain("<!doctype html>");
  expect(await (await browser.ask("/console/try/getTask", { task_id: "../balance" })).text()).toContain("task_not_found");
  for (const id of ["deleteTask", "listAccounts", "getWebhookSecret", "nothing"])
    expect((await browser.ask(`/console/try/${id}`, {})).status).toBe(404);
  expect((await new Browser().ask("/console/try/listTasks", {})).status).toBe(303);
  // In Japanese the verb's ending follows the link's word directly.
  expect(await new Browser().read("/docs/reference/tasks/getTask?language=ja")).toContain(">ログイン</a>すると、");
  // The words of the page's script, which shows faults of the form: in the language of the page.
  const task = await browser.read("/docs/reference/tasks/getTask?language=zh");
  expect(task).toContain('data-missing="请填写此字段。"');
  expect(task).toContain('data-lost="连接已断开。"');
});
