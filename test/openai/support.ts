/** Shared by the tests of OpenAI's paths: requests that wait while the test runs queue and alarms. */

import { expect } from "vitest";
import { png as image } from "../media/images.ts";
import { type Account, type Answer, call, finish } from "../support/gateway.ts";

export const v1 = "/openai/v1";

/** The ids of the account's tasks, newest first. */
export async function taskIds(account: Account): Promise<string[]> {
  const list = await call("/v1/tasks", { key: account.key });
  return (list.body.data as { id: string }[]).map(({ id }) => id);
}

/** The account's first task that is not among these. */
export async function nextTask(account: Account, known: string[] = []): Promise<string> {
  let found: string | undefined;
  await expect
    .poll(async () => (found = (await taskIds(account)).find((id) => !known.includes(id))), { timeout: 10_000, interval: 20 })
    .toBeDefined();
  return found!;
}

/** Sends a request, and runs its task to its end meanwhile. */
export async function whileMade(account: Account, asked: Promise<Answer>): Promise<Answer> {
  await finish(account, await nextTask(account));
  return asked;
}

/** This many bytes that begin like a PNG: only the start is checked before the upstream reads them. */
export function png(bytes: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  file.set(image.subarray(0, bytes));
  return file;
}

/** A form in the format of clients. */
export async function form(
  fields: Record<string, string | Blob | Blob[]>,
): Promise<{ body: ArrayBuffer; headers: Record<string, string> }> {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields))
    for (const one of Array.isArray(value) ? value : [value])
      if (typeof one === "string") data.append(name, one);
      else data.append(name, one, one instanceof File ? one.name : "picture.png");
  const request = new Request("http://form", { method: "POST", body: data });
  const body = await request.arrayBuffer();
  return { body, headers: { "content-type": request.headers.get("content-type")!, "content-length": String(body.byteLength) } };
}
