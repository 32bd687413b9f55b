/** The runbook (docs/operations.md), followed word by word: every `admin` command, in the order of the page. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../../scripts/support/wrangler.ts";
import { gateway } from "./support/account.ts";

const run = promisify(execFile);
const runbook = await readFile(join(root, "docs/operations.md"), "utf8");

/** The definition of the shell function. */
const definition = /```sh\n(admin\(\) \{\n.*?\n\})\n```/s.exec(runbook)?.[1] ?? "";
/** Every command, as it stands between backquotes, in the order of the page. */
const commands = [...runbook.matchAll(/`(admin ["/][^`]*)`/g)].map(([, command = ""]) => command);

interface Printed {
  status: number;
  body: Record<string, unknown>;
}

interface Ids {
  account: string;
  key: string;
  /** A prepaid code, and its series. */
  code: string;
  series: string;
}
const none: Ids = { account: "", key: "", code: "", series: "" };

/** Runs a command of the page with these ids in the place of `acc_...`, `key_...`, `code_...` and `codes_...`. */
async function follow(command: string, ids: Ids): Promise<Printed> {
  const text = command
    .replaceAll("acc_...", ids.account)
    .replaceAll("key_...", ids.key)
    .replaceAll("code_...", ids.code)
    .replaceAll("codes_...", ids.series);
  const { stdout } = await run("bash", ["-euc", `${definition}\n${text}`], {
    env: { ...process.env, GATEWAY: gateway.baseUrl, ADMIN_TOKEN: gateway.adminToken },
  });
  const [, body = "", status] = /^(.*)\nHTTP (\d+)\n$/s.exec(stdout) ?? [];
  return { status: Number(status), body: body === "" ? {} : (JSON.parse(body) as Printed["body"]) };
}

/** A new account with a key, and a new code, made with the page's own function. */
async function newIds(): Promise<Ids & { secret: string }> {
  const email = `runbook-${crypto.randomUUID()}@example.com`;
  const account = await follow(`admin /accounts POST '{"email": "${email}", "quota": 100}'`, none);
  const key = await follow(`admin /accounts/${String(account.body["id"])}/keys POST '{"name": "key", "quota": null}'`, none);
  const codes = await follow(`admin /codes POST '{"count": 1, "amount": 25}'`, none);
  expect([account.status, key.status, codes.status]).toEqual([201, 201, 201]);
  const [code] = codes.body["codes"] as [{ id: string }];
  return {
    account: String(account.body["id"]),
    key: String(key.body["id"]),
    secret: String(key.body["key"]),
    code: code.id,
    series: String(codes.body["id"]),
  };
}

test("the page defines the function, and has a command for each rare task", () => {
  expect(definition).toContain("HTTP %{http_code}");
  for (const part of [
    "/reconcile POST",
    "restored=replay",
    "restored=accept",
    "/audit",
    "PATCH",
    "/keys/key_... DELETE",
    "/accounts/acc_... DELETE",
  ])
    expect(
      commands.some((command) => command.includes(part)),
      part,
    ).toBe(true);
});

test("every command of the page is accepted, its answer is printed, and its status on a line of its own", async () => {
  for (const command of commands) {
    // Each has an account of its own: some of them delete it.
    const { status, body } = await follow(command, await newIds());
    // The erasure of an account without tasks ends with the call.
    const done = command.includes("DELETE") ? 204 : command.includes("/codes POST") ? 201 : 200;
    expect(status, `${command}: ${JSON.stringify(body)}`).toBe(done);
    if (command.includes("/reconcile")) expect(body).toMatchObject({ object: "reconciliation", restored: [] });
    if (command.includes("disabled")) expect(body["disabled"]).toBe(command.includes("true"));
    if (command.includes('"add"')) expect(body["quota"]).toBe(command.includes("-10") ? 90 : 110);
  }
});

test("a refusal is printed with its status, so that it is not mistaken for an empty result", async () => {
  const unknown = { ...none, account: "acc_0123456789abcdefghijkl", key: "key_0123456789abcdefghijkl" };
  expect(await follow("admin /accounts/acc_...", unknown)).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  expect(await follow("admin /keys/key_... DELETE", unknown)).toMatchObject({ status: 404 });
  expect(await follow(`admin /accounts POST '{"quota": "1"}'`, none)).toMatchObject({ status: 400 });
});

test("the audit is complete after some calls, and a second round begins later", async () => {
  const audit = async () => (await follow("admin /audit", none)).body["progress"] as { complete: boolean; started_at: number };
  const round = async (): Promise<number> => {
    const { complete, started_at } = await audit();
    return complete ? started_at : round();
  };
  const first = await round();
  // Times are whole seconds.
  await expect.poll(round, { timeout: 10_000 }).toBeGreaterThan(first);
});
