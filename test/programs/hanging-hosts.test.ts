/** Hosts of callers that do not answer, on the real runtime: there each queue has one consumer, which such a host must not hold. Contract 7. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { gateway, newKey } from "./support/account.ts";
import { pixel } from "../media/images.ts";

const image = Buffer.from(pixel, "base64");
/** The answers that are held back, by path, and how many of `/slow` when `/quick` was called. */
const held: { path: string; response: ServerResponse }[] = [];
const countHeld = (path: string) => held.filter((one) => one.path === path && !one.response.closed).length;
const quick = Promise.withResolvers<number>();
const host = createServer((request, response) => {
  if (request.url === "/image") return void response.writeHead(200, { "content-type": "image/png" }).end(image);
  if (request.url !== "/quick") return void held.push({ path: request.url ?? "", response });
  response.writeHead(204).end();
  quick.resolve(countHeld("/slow"));
});
beforeAll(() => new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  host.close();
  host.closeAllConnections();
});

const at = (path: string) => `http://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;

async function submit(key: string, fields: object): Promise<string> {
  const answer = await fetch(`${gateway.baseUrl}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "imgB-4o-image", prompt: "a fox", ...fields }),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { id: string }).id;
}

async function awaitStatus(key: string, id: string): Promise<string> {
  const answer = await fetch(`${gateway.baseUrl}/v1/tasks/${id}?wait=60`, { headers: { authorization: `Bearer ${key}` } });
  return ((await answer.json()) as { data: { status: string } }).data.status;
}

test("a callback arrives while the receivers of earlier ones, of its own and of another account, have not answered", async () => {
  const [key, other] = [await newKey("slow-receiver", 1), await newKey("quick-receiver", 1)];
  await Promise.all([key, other].map(async (one) => awaitStatus(one, await submit(one, { callback_url: at("/slow") }))));
  await vi.waitFor(() => expect(countHeld("/slow")).toBe(2), { timeout: 10_000 });
  await submit(other, { callback_url: at("/quick") });
  expect(await quick.promise).toBe(2);
}, 60_000);

test("tasks of an account complete while the host of another account's image has not answered", async () => {
  const [key, other] = [await newKey("hanging-image", 1), await newKey("no-image", 1)];
  await submit(key, { images: [at("/hanging")] });
  await vi.waitFor(() => expect(countHeld("/hanging")).toBe(1), { timeout: 10_000 });
  expect(await awaitStatus(other, await submit(other, {}))).toBe("completed");
  expect(countHeld("/hanging")).toBe(1);
}, 60_000);

test("images of tasks complete while the hosts of two other accounts' images do not answer", async () => {
  const [one, two, other] = [await newKey("colluding-one", 10), await newKey("colluding-two", 10), await newKey("with-image", 10)];
  await Promise.all([one, two].flatMap((key) => Array.from({ length: 4 }, () => submit(key, { images: [at("/colluding")] }))));
  // The image of the test before may hold the consumer still: then an object runs its start, after ten seconds.
  await vi.waitFor(() => expect(countHeld("/colluding")).toBeGreaterThan(0), { timeout: 30_000 });
  const started = Date.now();
  const ids = await Promise.all([submit(other, { images: [at("/image")] }), submit(other, {})]);
  expect(await Promise.all(ids.map((id) => awaitStatus(other, id)))).toEqual(["completed", "completed"]);
  expect(Date.now() - started).toBeLessThan(30_000);
  expect(countHeld("/colluding")).toBeGreaterThan(1);
}, 90_000);
