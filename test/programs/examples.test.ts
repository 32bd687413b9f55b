/** The examples, run like a reader would: against a gateway on this machine, in a separate folder. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gateway, newKey } from "./support/account.ts";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
let folder: string;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "examples-"));
  key = await newKey("receipts", 10);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const headers = () => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });

/** Runs a command in the folder: its exit code and both streams. */
const run = (command: string, args: string[]): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    execFile(command, args, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    );
  });

/** Writes a value as JSON into the folder. */
const write = (name: string, value: unknown) => writeFile(join(folder, name), JSON.stringify(value));

let id: string;

test("a receipt, its keys, the request and the file, for the next tests", async () => {
  // Numbers and names whose canonical form is not the usual one; the gateway ignores unknown fields.
  const odd = '{"10":1E21,"9":[1e-7,0.000001,4.50,-0,12345678901234567890,333333333.33333329],"\u{1f600}":"\\u0007\\u20AC","\ufb33":null}';
  const body = { prompt: "a lighthouse", model: "imgA-4", reference: "order 8" };
  const text = JSON.stringify(body).replace(/}$/, `,"odd":${odd}}`);
  await writeFile(join(folder, "body.json"), text);
  const submitted = await fetch(`${gateway.baseUrl}/v1/images/generations`, {
    method: "POST",
    headers: headers(),
    body: text,
  });
  ({ id } = (await submitted.json()) as { id: string });
  const task = (await (await fetch(`${gateway.baseUrl}/v1/tasks/${id}?wait=30`, { headers: headers() })).json()) as {
    data: { status: string; result: { images: [{ url: [string] }] } };
  };
  expect(task.data.status).toBe("completed");
  await writeFile(join(folder, "image.png"), new Uint8Array(await (await fetch(task.data.result.images[0].url[0])).arrayBuffer()));
  await write("receipt.json", await (await fetch(`${gateway.baseUrl}/v1/tasks/${id}/receipt`, { headers: headers() })).json());
  await write("jwks.json", await (await fetch(`${gateway.baseUrl}/.well-known/jwks.json`)).json());
  await write("other.json", { ...body, prompt: "a quay" });
  const receipt = JSON.parse(await readFile(join(folder, "receipt.json"), "utf8")) as { receipt: object; jws: string };
  await write("forged.json", { ...receipt, receipt: { ...receipt.receipt, charged: 0 } });
  const [header = "", payload = "", signature = ""] = receipt.jws.split(".");
  const forged = Buffer.from(JSON.stringify({ ...receipt.receipt, charged: 0 })).toString("base64url");
  await write("resigned.json", { receipt: { ...receipt.receipt, charged: 0 }, jws: [header, forged, signature].join(".") });
  await write("broken.json", {
    ...receipt,
    jws: [header, payload, `${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`].join("."),
  });
});

test.each([
  ["verify-receipt.mjs", process.execPath],
  ["verify-receipt.py", "python3"],
])("%s verifies a receipt offline, and reports differences", async (script, command) => {
  const verify = (...args: string[]) => run(command, [join(examples, script), ...args]);
  const good = { code: 0, output: `good: ${id}, completed, charged 0.03 USD\n` };
  expect(await verify("receipt.json", "jwks.json")).toEqual(good);
  expect(await verify("receipt.json", "jwks.json", "--request", "body.json", "image.png")).toEqual(good);
  const wrong: [string[], string][] = [
    [["receipt.json", "jwks.json", "--request", "other.json"], "is not the request"],
    [["receipt.json", "jwks.json", "body.json"], "is no file"],
    [["forged.json", "jwks.json"], "is not the one that was signed"],
    [["resigned.json", "jwks.json"], "the signature is wrong"],
    [["broken.json", "jwks.json"], "the signature is wrong"],
  ];
  for (const [args, reason] of wrong) {
    const { code, output } = await verify(...args);
    expect(code, output).toBe(1);
    expect(output).toContain(reason);
  }
});
