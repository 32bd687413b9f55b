/** The risky small parts of the scripts: variables passed to wrangler, and checks that must reject bad files. */

import { createHash } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encode } from "fast-png";
import { expect, onTestFinished, test } from "vitest";
import { unstable_getVarsForDev as readAsWrangler } from "wrangler";
import { billFaults, chatCost } from "../../scripts/support/bill.ts";
import { digestFaults, mp4Faults, pngFaults } from "../../scripts/support/file-checks.ts";
import { isWorkerVariable, writeVariables } from "../../scripts/support/variables.ts";

test("wrangler reads every variable unchanged, whatever it contains", async () => {
  const directory = await mkdtemp(join(tmpdir(), "scripts-checks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, "variables.env");
  await writeFile(path, "an older file, open to all", { mode: 0o644 });
  const variables = {
    PLAIN: "sk-abc123",
    EMPTY: "",
    JSON_VALUE: '{"textA-1":[{"provider":"openai","model":"m"}],"text":"two\\nlines"}',
    DOLLARS: "p$PATH ${HOME} $1 \\$ a$",
    QUOTES: "it's `so`",
    DOUBLE: 'say "it\'s"',
    LINES: "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n",
    COMMENT: " spaces # no comment ",
    BACKSLASHES: "a\\nb\\\\c",
  };
  await writeVariables(path, variables);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const read = Object.entries(readAsWrangler(undefined, [path], {}, undefined, true)).map(([name, binding]) => [
    name,
    "value" in binding ? binding.value : undefined,
  ]);
  expect(Object.fromEntries(read)).toEqual(variables);
  await expect(writeVariables(path, { ALL_QUOTES: "'\"`" })).rejects.toThrow("ALL_QUOTES");
});

test("the Worker's own variables and upstreams' secrets are passed on, nothing else", () => {
  const passed = [
    "ADMIN_TOKEN",
    "ASSET_TTL_S",
    "CHAT_FAMILIES",
    "RATE_LIMITS",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "GITHUB_CLIENT_SECRET",
    "SIGNUP",
    "SIGNUP_QUOTA",
  ];
  expect(passed.filter((name) => !isWorkerVariable(name))).toEqual([]);
  const kept = [
    "PATH",
    "HOME",
    "PORT",
    "STATE_DIR",
    "BASE_URL",
    "API_KEY",
    "DB",
    "GITHUB_TOKEN",
    "CLOUDFLARE_API_TOKEN",
    "CLOUDFLARE_API_KEY",
  ];
  expect(kept.filter(isWorkerVariable)).toEqual([]);
});

test("a file that does not match its status answer is detected", async () => {
  const bytes = Uint8Array.from(encode({ width: 4, height: 2, data: new Uint8Array(32), channels: 4, depth: 8 }));
  const digest = `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
  const png = { bytes, type: "image/png", digest };
  expect(digestFaults(png)).toEqual([]);
  expect(pngFaults(png, { width: 4, height: 2 })).toEqual([]);
  expect(pngFaults(png, { width: 2, height: 4 })).toHaveLength(1);
  expect(pngFaults({ ...png, bytes: bytes.slice(0, 60) })).toHaveLength(1);
  expect(pngFaults({ ...png, type: "image/jpeg" })).toHaveLength(1);
  expect(digestFaults({ ...png, digest: null })).toHaveLength(1);
  expect(digestFaults({ ...png, bytes: bytes.slice(1) })).toHaveLength(1);
  expect(await mp4Faults({ ...png, type: "video/mp4" }, { duration: 10, size: "4x2" })).toHaveLength(1);
});

const balance = (remain: number, used: number) => ({ remain_balance: remain, used_balance: used, unlimited_quota: remain < 0 });

test("a bill that is wrong by a millionth, or leaves something reserved, is detected", () => {
  const before = { key: balance(-1, 0.2), account: balance(99.7, 0.3) };
  expect(billFaults(before, { key: balance(-1, 0.3), account: balance(99.6, 0.4) }, 0.1)).toEqual([]);
  expect(billFaults(before, { key: balance(-1, 0.300001), account: balance(99.6, 0.4) }, 0.1)).toHaveLength(1);
  expect(billFaults(before, { key: balance(-1, 0.3), account: balance(99.5, 0.4) }, 0.1)).toHaveLength(1);
  const prices = { data: [{ id: "textA-1", price: { input_million_tokens: 2, output_million_tokens: 8 } }] };
  expect(chatCost(prices, "textA-1", { prompt_tokens: 11, completion_tokens: 3 })).toBe(0.000046);
  expect(chatCost({ data: [{ id: "m", price: { input_million_tokens: 0.2 } }] }, "m", { prompt_tokens: 1, completion_tokens: 9 })).toBe(
    0.000001,
  );
});
