/** Each client of `clients/`, installed from its package in an empty folder, runs real tasks and verifies callbacks and receipts. */

import { execFile } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isInstalled } from "../../scripts/support/installed.ts";
import { install, newEnvironment } from "../../scripts/support/python.ts";
import { dist, packageNamed } from "./package.ts";
import { startProxy } from "./proxy.ts";

const run = promisify(execFile);
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-packages-use-"));
});
afterAll(() => rm(folder, { recursive: true }));

const secret = `whsec_${Buffer.from("a secret of thirty-two characters").toString("base64")}`;

/** The data that a program of the tests verifies: a callback signed like the gateway does, and a receipt with its keys. */
function samples() {
  const body = JSON.stringify({ type: "task.completed", timestamp: new Date().toISOString(), data: { id: "task_a", prompt: "한국어" } });
  const at = new Date();
  const headers = {
    "webhook-id": "task_a",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    // As during a rotation: the other secret's signature comes first.
    "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")} ${new Webhook(secret).sign("task_a", at, body)}`,
  };
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const receipt = { id: "task_a", charged: 0.03, files: [{ name: "1.png", sha256: "ab" }], reference: "한국어" };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "EdDSA", kid: "k1" })}.${part(Object.fromEntries(Object.entries(receipt).toReversed()))}`;
  const jws = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;
  const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig" }] };
  return { secret, body, headers, answer: { receipt, jws }, jwks };
}

/** Installs packages in an empty folder. */
async function npmFolder(name: string, ...packages: string[]): Promise<string> {
  const cwd = await mkdtemp(join(folder, `${name}-`));
  await writeFile(join(cwd, "package.json"), JSON.stringify({ type: "module", private: true }));
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packages], { cwd });
  await copyFile(`clients/${name}/test/use.ts`, join(cwd, "use.ts"));
  return cwd;
}

/** Runs a program behind a proxy of its own. Returns the JSON that it prints last. */
async function runProxied(program: string, args: string[], cwd: string): Promise<unknown> {
  const proxy = await startProxy(process.env["GATEWAY_URL"] ?? "");
  try {
    const { stdout } = await run(program, args, { cwd, env: { ...process.env, PROXY_URL: proxy.url } });
    return JSON.parse(stdout.trim().split("\n").at(-1)!);
  } finally {
    await proxy.close();
  }
}

/** Checks the types of programs like their author would. */
async function checkTypes(cwd: string, ...programs: string[]): Promise<void> {
  const options = [
    "--noEmit",
    "--strict",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--lib",
    "es2022,dom,dom.iterable",
    "--types",
    "node",
  ];
  await run(resolve("node_modules/.bin/tsc"), [...options, "--typeRoots", resolve("node_modules/@types"), "--skipLibCheck", ...programs], {
    cwd,
  });
}

/** Checks the program's types, and runs it. Returns the JSON that it prints last. */
async function use(cwd: string): Promise<unknown> {
  await checkTypes(cwd, "use.ts");
  await writeFile(join(cwd, "samples.json"), JSON.stringify(samples()));
  return runProxied(process.execPath, ["use.ts"], cwd);
}

/** The blocks of a client's README, with this gateway's address and a key. */
async function readmeBlocks(client: string, language: "ts" | "typescript" | "python" | "go"): Promise<string[]> {
  const text = await readFile(`clients/${client}/README.md`, "utf8");
  const { GATEWAY_URL = "", GATEWAY_KEY = "" } = process.env;
  const whole = text.replaceAll("https://gateway.example", GATEWAY_URL).replaceAll("sk-...", GATEWAY_KEY);
  const blocks = [...whole.matchAll(new RegExp(`^\`{3}${language}\\n(.*?)^\`{3}$`, "gms"))].map(([, block = ""]) => block);
  expect(blocks.length, client).toBeGreaterThan(0);
  return blocks;
}

/** They are one program. */
const readmeProgram = async (client: string, language: "ts" | "python"): Promise<string> =>
  (await readmeBlocks(client, language)).join("\n");

/** Runs the TypeScript of a client's README where its package is installed, with a line that prints a value at its end. */
async function runReadme(cwd: string, client: string, printed: string): Promise<string> {
  await writeFile(join(cwd, "readme.ts"), `${await readmeProgram(client, "ts")}\nconsole.log(${printed});\n`);
  return (await run(process.execPath, ["readme.ts"], { cwd })).stdout.trim().split("\n").at(-1)!;
}

/** What the programs print in both languages. */
const made = {
  image: { status: "completed", charged: 0.06, types: ["image/png", "image/png"] },
  names: [true, true],
  again: true,
  video: { duration: 10, bytes: true },
  unauthorized: true,
  failed: "content_policy_violation",
  chat: { streamed: true, whole: true },
  states: ["completed", true],
  files: { type: "video/mp4", isWhole: true, edited: "completed" },
  batch: { status: "completed", lines: ["line-1 completed 0.03", "line-2 completed 0.03", "line-3 completed 0.03"], listed: 3, page: 2 },
  // A refused presigned URL fails the delivery, not the task.
  delivery: ["delivered", true, "completed"],
  // Of a task and of a batch, to a bucket that refuses the first time.
  redelivery: ["delivered", 1, 0, 1],
  destination: ["pictures", ["own"], "destination_not_found"],
  cancelled: "cancelled",
  estimate: ["video", 0.24],
  used: true,
  // Each fault hits two answers: one task, under one key.
  survived: {
    drop: ["completed", 1, 1],
    lost: ["completed", 1, 1],
    cut: ["completed", 1, 1],
    html: ["completed", 1, 1],
    foreign: ["completed", 1, 1],
  },
  // A file that was cut twice arrived in three requests, a chat that was cut was not repeated.
  resumed: [true, 3],
  cutChat: [true, 1],
  slow: true,
  gone: [500, true, true],
  // A stalled chat ends by the time limit; a file and a task's states continue. A stream without states is asked for five times.
  stalled: [true, true, "completed"],
  silent: [true, 5],
  page: true,
  callback: "task.completed",
  forgedCallback: true,
  receipt: "task_a",
  forgedReceipt: true,
};
/** The samples of the API's description in a language, in the order of its paths. */
async function codeSamples(language: string): Promise<string[]> {
  const { paths } = JSON.parse(await readFile("src/console/site/openapi.json", "utf8")) as {
    paths: Record<string, Record<string, { "x-codeSamples"?: { lang: string; source: string }[] }>>;
  };
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const found = operations.flatMap(({ "x-codeSamples": samples = [] }) => samples.filter(({ lang }) => lang === language));
  expect(found.length).toBeGreaterThan(15);
  return found.map(({ source }) => source);
}

const refused = { status: 400, code: "invalid_request", param: "size", params: ["n", "size"], hasId: true };

// At once, because installations mostly wait for downloads.
test.concurrent("the TypeScript client", async () => {
  const cwd = await npmFolder("typescript", await packageNamed(/^generation-gateway-client-.*\.tgz$/));
  expect(await use(cwd)).toEqual({
    ...made,
    opened: ["GET", "GET", "HEAD", true],
    bounded: [12, 4],
    refused: { ...refused, isTyped: true },
    warned: true,
    stopped: ["AbortError", true],
    kept: ["AbortError", true],
    aborted: ["AbortError", "AbortError", "AbortError", true],
  });
  expect(await runReadme(cwd, "typescript", "image!.type, film.status, uploaded.type, edited.status")).toBe(
    "image/png completed image/png queued",
  );
  // A receiver of webhooks, as a module that exports a Worker.
  const [receiver = ""] = await readmeBlocks("typescript", "typescript");
  await writeFile(join(cwd, "receiver.ts"), receiver);
  await writeFile(
    join(cwd, "deliver.ts"),
    `import { readFileSync } from "node:fs";
import receiver from "./receiver.ts";
const { body, headers } = JSON.parse(readFileSync("samples.json", "utf8"));
const answer = async (content: string) => (await receiver.fetch(new Request("https://shop.example", { method: "POST", headers, body: content }))).status;
console.log(await answer(body), await answer(body + " "));`,
  );
  await checkTypes(cwd, "deliver.ts", "--allowImportingTsExtensions");
  const delivered = await run(process.execPath, ["deliver.ts"], { cwd, env: { WEBHOOK_SECRET: secret } });
  expect(delivered.stdout.trim().split("\n")).toEqual(["task.completed", "204 401"]);
  // Each sample of the description is a program that compiles.
  const samples = await codeSamples("TypeScript");
  await Promise.all(samples.map((source, at) => writeFile(join(cwd, `sample-${at}.ts`), source)));
  await checkTypes(cwd, ...samples.map((_, at) => `sample-${at}.ts`));
  const required = `const { Gateway, APIError } = require("generation-gateway-client");
new Gateway({ apiKey: "sk-nothing" }).models.list().catch((error) => console.log(error instanceof APIError, error.status));`;
  await writeFile(join(cwd, "required.cjs"), required);
  expect((await run(process.execPath, ["required.cjs"], { cwd })).stdout.trim()).toBe("true 401");
});

test("the TypeScript client is at most 5 KB for a page that uses it", async () => {
  const source = 'import { Gateway } from "./clients/typescript/dist/esm/index.js"; globalThis.gateway = new Gateway();';
  const entry = join(folder, "page.js");
  await writeFile(entry, source.replace("./clients", resolve("clients")));
  const { stdout } = await run(resolve("node_modules/.bin/esbuild"), [entry, "--bundle", "--minify", "--format=esm", "--target=es2022"]);
  expect(gzipSync(stdout, { level: 9 }).length).toBeLessThanOrEqual(5 * 1024);
});

test.concurrent("the Python client, sync and async", async () => {
  const cwd = await mkdtemp(join(folder, "python-"));
  const python = await newEnvironment(join(cwd, ".venv"));
  await install(python, [`${await packageNamed(/\.whl$/)}[receipts]`, "mypy==2.4.1", "pyright==1.1.414"]);
  await copyFile("clients/python/test/use.py", join(cwd, "use.py"));
  await writeFile(join(cwd, "samples.json"), JSON.stringify(samples()));
  await writeFile(join(cwd, "pyrightconfig.json"), JSON.stringify({ include: ["use.py"], typeCheckingMode: "strict" }));
  const programs = await codeSamples("Python");
  await Promise.all(programs.map((source, at) => writeFile(join(cwd, `sample_${at}.py`), `${source}\n`)));
  await run(python, ["-m", "mypy", "--strict", "use.py", ...programs.map((_, at) => `sample_${at}.py`)], { cwd });
  await run(python, ["-m", "pyright", "--pythonpath", python], { cwd });
  expect(await runProxied(python, ["-W", "error::SyntaxWarning", "use.py"], cwd)).toEqual({
    ...made,
    refused,
    kept: ["APIConnectionError", true],
    async: { charged: 0.03, files: 1, bounded: 4, listed: 1, streamed: true, cancelled: true },
  });
  const readme = await run(
    python,
    ["-c", `${await readmeProgram("python", "python")}\nprint(image.type, film["status"], uploaded["type"], edited["status"])`],
    { cwd },
  );
  expect(readme.stdout.trim().split("\n").at(-1)).toBe("image/png completed image/png queued");
});

test.concurrent("the provider for the AI SDK", async () => {
  const cwd = await npmFolder("ai-sdk", await packageNamed(/ai-sdk.*\.tgz$/), "ai@7.0.173", "zod@4.6.7");
  expect(await use(cwd)).toEqual({
    text: true,
    streamed: true,
    images: { count: 2, types: ["image/png", "image/png"], charged: 0.06, warnings: ["seed"] },
    announced: { type: "video/mp4", event: "task.completed", queries: 1 },
    video: { type: "video/mp4", bytes: true },
    refused: 400,
    failed: true,
    asked: { lost: 1, cut: 1, html: 1, page: 1, failed: 1, foreign: 1 },
    unreached: true,
    survived: Object.fromEntries(
      ["drop", "lost", "cut", "stall", "html", "page", "foreign", "delay"].map((name) => [name, ["image/png", 1]]),
    ),
    resumed: ["image/png", true],
    stopped: ["AbortError", true],
  });
  expect(await runReadme(cwd, "ai-sdk", "image.mediaType, video.mediaType")).toBe("image/png video/mp4");
});

test.concurrent("the Go client", async ({ skip }) => {
  if (!(await isInstalled("go"))) skip("Go is not installed");
  const cwd = await mkdtemp(join(folder, "go-"));
  const module = ["module use", "go 1.24.0", "require gateway.example/go v0.3.0"];
  await writeFile(join(cwd, "go.mod"), `${module.join("\n")}\nreplace gateway.example/go => ${join(dist, "generation-gateway-go")}\n`);
  await copyFile("clients/go/test/use.go", join(cwd, "use.go"));
  await writeFile(join(cwd, "samples.json"), JSON.stringify(samples()));
  await mkdir(join(cwd, "readme"));
  // The first block is a whole program, the others are statements at its end.
  const [program = "", ...statements] = await readmeBlocks("go", "go");
  const imports = ["encoding/json", "errors", "net/url", "os", "time"].map((name) => `"${name}"`).join("\n");
  const whole = [program.replace("import (", `import (\n${imports}`).trimEnd().replace(/}$/, ""), ...statements, "}"];
  await writeFile(join(cwd, "readme/main.go"), whole.join("\n"));
  await run("go", ["mod", "tidy"], { cwd });
  await run("go", ["vet", "./..."], { cwd });
  await run("go", ["build", "-o", "use", "use.go"], { cwd });
  expect(await runProxied(join(cwd, "use"), [], cwd)).toEqual({
    image: made.image,
    names: made.names,
    again: true,
    progress: 100,
    video: true,
    refused,
    unauthorized: "unauthorized",
    failed: made.failed,
    chat: [true, true],
    states: made.states,
    edited: "completed",
    batch: made.batch.lines,
    delivery: made.delivery,
    redelivery: made.redelivery,
    destination: made.destination,
    cancelled: made.cancelled,
    uploads: ["application/jsonl", 7200, 2, true],
    estimate: made.estimate,
    survived: { ...made.survived, page: ["completed", 1, 1] },
    listed: 5,
    resumed: made.resumed,
    cutChat: made.cutChat,
    slow: true,
    gone: made.gone,
    stalled: made.stalled,
    silent: made.silent,
    stopped: [true, true],
    kept: [true, true],
    callback: made.callback,
    forgedCallback: true,
    receipt: true,
    forgedReceipt: true,
  });
  const { stdout } = await run("go", ["run", "./readme"], { cwd });
  expect(stdout).toContain("lighthouse.png <nil>\n");
  expect(stdout.trim().split("\n").at(-1)).toBe("<nil>");
});
