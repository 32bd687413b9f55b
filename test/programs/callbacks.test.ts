/** Callbacks on the real runtime: its queue has one consumer, which receivers that do not answer must not hold. Contract 7. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gateway, newKey } from "./support/account.ts";

/** Answers that are held back, and the number of them when `/quick` was called. */
const held: ServerResponse[] = [];
const quick = Promise.withResolvers<number>();
const receiver = createServer((request, response) => {
  if (request.url !== "/quick") return void held.push(response);
  response.writeHead(204).end();
  quick.resolve(held.filter(({ closed }) => !closed).length);
});
beforeAll(() => new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  receiver.close();
  receiver.closeAllConnections();
});

async function submit(key: string, path: string): Promise<string> {
  const { port } = receiver.address() as AddressInfo;
  const answer = await fetch(`${gateway.baseUrl}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "imgA-4", prompt: "a fox", callback_url: `http://127.0.0.1:${port}${path}` }),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { id: string }).id;
}

test("a callback arrives while the receivers of earlier ones, of its own and of another account, have not answered", async () => {
  const [key, other] = [await newKey("slow-receiver", 1), await newKey("quick-receiver", 1)];
  const ids = await Promise.all([submit(key, "/slow"), submit(other, "/slow")]);
  // Their callbacks are sent when the tasks are final.
  for (const [at, id] of ids.entries())
    await fetch(`${gateway.baseUrl}/v1/tasks/${id}?wait=60`, { headers: { authorization: `Bearer ${[key, other][at]}` } });
  await submit(other, "/quick");
  expect(await quick.promise).toBe(2);
}, 60_000);
