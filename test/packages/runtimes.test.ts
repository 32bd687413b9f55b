/** The TypeScript client in the runtimes beside Node: a page of Chromium, a Worker of Cloudflare's, Deno and Bun. */

import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chromiumOptions } from "../../scripts/support/chromium.ts";
import { packageNamed } from "./package.ts";

const run = promisify(execFile);
const { GATEWAY_URL = "", GATEWAY_KEY = "" } = process.env;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-runtimes-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  const packages = [await packageNamed(/^generation-gateway-client-.*\.tgz$/), "deno@2.9.6", "bun@1.4.5"];
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packages], { cwd: folder });
  await copyFile("clients/typescript/test/anywhere.js", join(folder, "anywhere.js"));
});
afterAll(() => rm(folder, { recursive: true }));

const made = { state: "completed", types: ["image/png", "image/png"], isWhole: true, isTyped: true };
const madeByKey = { ...made, chat: true, edited: "completed" };

/** A program that uses the client as a module of the runtime's own, and prints what came of it. */
const program = `import { use } from "./anywhere.js";
console.log(JSON.stringify(await use(${JSON.stringify(GATEWAY_URL)}, ${JSON.stringify(GATEWAY_KEY)})));`;

test.each([
  ["Deno", "deno", ["run", "--allow-net", "--allow-env"]],
  ["Bun", "bun", ["run"]],
])("%s", async (_, name, args) => {
  await writeFile(join(folder, "program.js"), program);
  const { stdout } = await run(join(folder, "node_modules/.bin", name), [...args, "program.js"], { cwd: folder });
  expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual(madeByKey);
});

test("a Worker", async () => {
  const source = `import { use } from "./anywhere.js";
export default { fetch: async (_, env) => Response.json(await use(env.GATEWAY_URL, env.GATEWAY_KEY)) };`;
  await writeFile(join(folder, "worker.js"), source);
  const esbuild = ["worker.js", "--bundle", "--format=esm", "--target=es2022", "--outfile=bundle.js"];
  await run(resolve("node_modules/.bin/esbuild"), esbuild, { cwd: folder });
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      name: "user",
      modules: [{ type: "ESModule", path: join(folder, "bundle.js") }],
      modulesRoot: folder,
      compatibilityDate: "2026-10-20",
      bindings: { GATEWAY_URL, GATEWAY_KEY },
    }),
  );
  try {
    expect(await (await worker.dispatchFetch("http://worker.example/")).json()).toEqual(madeByKey);
  } finally {
    await worker.dispose();
  }
});

test("a page, with a browser's token and without a bundler", async () => {
  const scripts = { "generation-gateway-client": "/node_modules/generation-gateway-client/dist/esm/index.js" };
  const page = `<!doctype html><title>A page</title><script type="importmap">${JSON.stringify({ imports: scripts })}</script>`;
  const server = createServer((asked, answer) => {
    if (asked.url === "/") return void answer.setHeader("content-type", "text/html").end(page);
    readFile(join(folder, asked.url ?? "")).then(
      (script) => answer.setHeader("content-type", "text/javascript").end(script),
      () => answer.writeHead(404).end(),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await chromium.launch(chromiumOptions());
  try {
    const created = await fetch(`${GATEWAY_URL}/v1/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ tasks: 1, max_cost: 1, kinds: ["image"], origin, expires_in: 600 }),
    });
    const { token } = (await created.json()) as { token: string };
    const view = await browser.newPage();
    await view.goto(origin);
    const call = `import("/anywhere.js").then(({ use }) => use(${JSON.stringify(GATEWAY_URL)}, ${JSON.stringify(token)}))`;
    const came = await view.evaluate(call);
    expect(came).toEqual(made);
  } finally {
    await browser.close();
    server.close();
  }
});
