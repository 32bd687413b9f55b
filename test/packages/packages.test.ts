/** Each client of `clients/`, installed from its package in an empty folder, runs real tasks and verifies callbacks and receipts. */

import { execFile } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { install, newEnvironment } from "../../scripts/support/python.ts";

const run = promisify(execFile);
const dist = resolve("clients/dist");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-packages-use-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function packageNamed(pattern: RegExp): Promise<string> {
  const found = (await readdir(dist)).find((name) => pattern.test(name));
  if (!found) throw new Error(`There is no ${String(pattern)} in ${dist}: run npm run packages.`);
  return join(dist, found);
}

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

/** Checks the program's types like its author would, and runs it. Returns the JSON that it prints last. */
async function use(cwd: string): Promise<unknown> {
  const types = [
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
  await run(resolve("node_modules/.bin/tsc"), [...types, "--typeRoots", resolve("node_modules/@types"), "--skipLibCheck", "use.ts"], {
    cwd,
  });
  await writeFile(join(cwd, "samples.json"), JSON.stringify(samples()));
  const { stdout } = await run(process.execPath, ["use.ts"], { cwd });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

/** The program of a client's README, with this gateway's address and a key. */
async function readmeProgram(client: string, language: "ts" | "python"): Promise<string> {
  const text = await readFile(`clients/${client}/README.md`, "utf8");
  const programs = [...text.matchAll(new RegExp(`^.{3}${language}\\n(.*?)^.{3}$`, "gms"))].map(([, program = ""]) => program);
  expect(programs.length, client).toBeGreaterThan(0);
  const { GATEWAY_URL = "", GATEWAY_KEY = "" } = process.env;
  return programs.join("\n").replaceAll("https://gateway.example", GATEWAY_URL).replaceAll("sk-...", GATEWAY_KEY);
}

/** Runs the TypeScript of a client's README where its package is installed, with a line that prints a value at its end. */
async function runReadme(cwd: string, client: string, printed: string): Promise<string> {
  await writeFile(join(cwd, "readme.ts"), `${await readmeProgram(client, "ts")}\nconsole.log(${printed});\n`);
  return (await run(process.execPath, ["readme.ts"], { cwd })).stdout.trim().split("\n").at(-1)!;
}

const made = {
  image: { status: "completed", charged: 0.06, types: ["image/png", "image/png"] },
  again: true,
  video: { duration: 10, bytes: true },
  refused: { status: 400, params: ["n", "size"] },
  failed: "content_policy_violation",
  callback: "task.completed",
  forgedCallback: "refused",
  receipt: "task_a",
  forgedReceipt: "refused",
};

// At once, because installations mostly wait for downloads.
test.concurrent("the TypeScript client", async () => {
  const cwd = await npmFolder("typescript", await packageNamed(/^generation-gateway-client-.*\.tgz$/));
  expect(await use(cwd)).toEqual(made);
  expect(await runReadme(cwd, "typescript", "image.type, image.bytes.length > 1000")).toBe("image/png true");
});

test.concurrent("the Python client, sync and async", async () => {
  const cwd = await mkdtemp(join(folder, "python-"));
  const python = await newEnvironment(join(cwd, ".venv"));
  await install(python, [`${await packageNamed(/\.whl$/)}[receipts]`]);
  await copyFile("clients/python/test/use.py", join(cwd, "use.py"));
  await writeFile(join(cwd, "samples.json"), JSON.stringify(samples()));
  const { stdout } = await run(python, ["use.py"], { cwd });
  expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual({ ...made, asyncImage: { charged: 0.03, files: 1 } });
  const readme = await run(python, ["-c", `${await readmeProgram("python", "python")}\nprint(image[1:4].decode())`], { cwd });
  expect(readme.stdout.trim().split("\n").at(-1)).toBe("PNG");
});

test.concurrent("the provider for the AI SDK", async () => {
  const cwd = await npmFolder("ai-sdk", await packageNamed(/ai-sdk.*\.tgz$/), "ai@7.0.173");
  expect(await use(cwd)).toEqual({
    text: true,
    streamed: true,
    images: { count: 2, types: ["image/png", "image/png"], charged: 0.06, warnings: ["seed"] },
    video: { type: "video/mp4", bytes: true },
    refused: 400,
    failed: true,
  });
  expect(await runReadme(cwd, "ai-sdk", "text.length > 0, image.mediaType")).toBe("true image/png");
});
