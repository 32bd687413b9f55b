/** Every program in the documentation runs unchanged, with this gateway's URL and a key, against a gateway started like by `npm start`. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { install, newEnvironment } from "../../scripts/support/python.ts";
import { readSamples, type Sample } from "../../scripts/support/docs.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { contents } from "../../src/console/site/contents.ts";
import { packageNamed } from "../packages/package.ts";
import { gateway, newKey } from "./support/account.ts";

type Language = Sample["language"];

/** The account for the samples of a language, separate from others, so that none sees another's tasks and characters. */
interface Runner {
  key: string;
  folder: string;
  /** The receiver of webhooks from its page. */
  receiver: ChildProcess;
  hooks: string;
  /** The receiver's output. */
  received: string;
}

/** The maximum number of programs at a time: they mostly wait for their tasks, and more would wait for each other. */
vi.setConfig({ maxConcurrency: 8, testTimeout: 300_000 });

const run = promisify(execFile);
// A pipe fails if any of its parts does, and a request fails if the gateway refuses it.
const shell = ["bash", "-eo", "pipefail", "-c"];
const strict = 'curl() { command curl --fail-with-body "$@"; }\n';
const commands: Record<Language, string[]> = {
  sh: shell,
  js: [process.execPath, "--input-type=module", "-e"],
  python: ["python3", "-c"],
};
const languages = Object.keys(commands) as Language[];

/** The operator's pages show commands for a deployment. */
const guides = contents.flatMap(({ name, pages: names }) => (name === "docs_operate" ? [] : [...names]));
const pages = await Promise.all(
  ["landing", ...guides].map(async (name) => ({
    name,
    samples: (await readSamples(name)).filter(({ environment }) => environment === undefined),
  })),
);
const cases = pages.flatMap(({ name, samples }) =>
  languages.flatMap((language) => {
    const code = samples.filter((one) => one.language === language && one.file === undefined).map((one) => one.code);
    return code.length === 0 ? [] : [{ name, language, code: code.join("\n\n") }];
  }),
);
const files = pages.flatMap(({ samples }) => samples.filter(({ file }) => file !== undefined));

let base = "";
const runners = {} as Record<Language, Runner>;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** A text of the documentation with its placeholders filled in. */
const filledIn = (text: string, { hooks }: { hooks: string }) =>
  text.replaceAll("https://gateway.example", gateway.baseUrl).replaceAll("https://app.example.com/hooks", hooks);

async function prepare(language: Language): Promise<Runner> {
  const key = await newKey(language, 100);
  const folder = join(base, language);
  await mkdir(folder);
  const port = await freePort();
  const hooks = `http://127.0.0.1:${port}/hooks`;
  for (const { file, code } of files) await writeFile(join(folder, file!), filledIn(code, { hooks }));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const answer = await fetch(`${gateway.baseUrl}/v1/webhook_secret`, { headers: { authorization: `Bearer ${key}` } });
  const { secret } = (await answer.json()) as { secret: string };
  const [program, file] = language === "python" ? ["python3", "receiver.py"] : [process.execPath, "receiver.mjs"];
  const receiver = spawn(program, [file], { cwd: folder, env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) } });
  const runner = { key, folder, receiver, hooks, received: "" };
  receiver.stdout.setEncoding("utf8").on("data", (text: string) => (runner.received += text));
  return runner;
}

beforeAll(async () => {
  // Of the package, because a part of the Python client is made when it is built.
  await packageNamed(/^generation-gateway-client-.*\.tgz$/);
  base = await mkdtemp(join(tmpdir(), "docs-"));
  // One folder above the other packages, which are linked as they are.
  await mkdir(join(base, "node_modules"));
  await symlink(join(root, "clients/typescript"), join(base, "node_modules/generation-gateway-client"));
  commands.python[0] = await newEnvironment(join(base, "venv"));
  await install(commands.python[0], [await packageNamed(/\.whl$/)]);
  for (const language of languages) runners[language] = await prepare(language);
});

afterAll(async () => {
  for (const { receiver } of Object.values(runners)) receiver.kill();
  await rm(base, { recursive: true, force: true });
});

test.concurrent.each(cases)("the samples of $name in $language succeed", async ({ language, code }) => {
  const runner = runners[language];
  const [command = "", ...options] = commands[language];
  const program = (language === "sh" ? strict : "") + filledIn(code, runner);
  const { stdout } = await run(command, [...options, program], {
    cwd: runner.folder,
    timeout: 280_000,
    env: { PATH: process.env["PATH"], API_KEY: runner.key, GATEWAY_KEY: runner.key, GATEWAY_URL: gateway.baseUrl },
  });
  expect(stdout).not.toBe("");
});

test.each(languages)("the receiver of webhooks accepts what the gateway sends to %s", async (language) => {
  await expect.poll(() => runners[language].received, { timeout: 20_000 }).toMatch(/^task\.completed task_/m);
});

test("pages with a sample request show it in more than one language, except those about a program that has one", () => {
  const programs = new Set<string>(contents.flatMap(({ name, pages: names }) => (name === "docs_use" ? names : [])));
  const others = pages.filter(({ name }) => !programs.has(name));
  const alone = others.filter(({ samples }) => samples.length > 0 && new Set(samples.map(({ language }) => language)).size === 1);
  expect(alone.map(({ name }) => name)).toEqual(["limits", "agents"]);
});
