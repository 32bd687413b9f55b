/** The requests of both sides: for a new key, to tasks with a given status. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Client } from "./load.ts";

export const adminToken = "bench-admin";
export const gatewayBindings = {
  RATE_LIMITS: "off",
  MAX_OPEN_TASKS: "1000000", // tasks of a run stay open
  ADMIN_TOKEN: adminToken,
  ASSET_SIGNING_SECRET: "bench-signing-secret",
};

const tasks = 16;
const image = JSON.stringify({ model: "imgA-4", prompt: "A lighthouse at dawn, long exposure", size: "16:9", n: 1 });
const video = JSON.stringify({ model: "vidA-2", prompt: "A fox in a red scarf reads a letter aloud", duration: 10 });

// Headers that browsers and libraries send too: both sides read them, whether they use them or not.
const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, accept: "application/json", "user-agent": "bench/1" });

/** The headers for a new key of a gateway. */
export async function freshHeaders(client: Client): Promise<Record<string, string>> {
  const admin = { method: "POST", headers: headersOf(adminToken) } as const;
  const post = async (path: string, body: object) => JSON.parse(await client.send({ ...admin, path, body: JSON.stringify(body) }));
  const account = await post("/admin/accounts", { email: "bench@example.com", quota: 1_000_000 });
  const { key } = await post(`/admin/accounts/${account.id}/keys`, { name: "bench", quota: 1_000_000 });
  return headersOf(key as string);
}

/** A gateway's requests for a new key. */
export async function gatewayCalls(client: Client) {
  const headers = await freshHeaders(client);
  const submission: Call = { method: "POST", path: "/v1/images/generations", headers, body: image };

  /** Status queries of new tasks that have reached this status. */
  const status = async (status: "in_progress" | "completed"): Promise<Call[]> => {
    const submit: Call = status === "completed" ? submission : { ...submission, path: "/v1/videos/generations", body: video };
    const made = await Promise.all(Array.from({ length: tasks }, async () => JSON.parse(await client.send(submit)) as { id: string }));
    const calls = made.map(({ id }): Call => ({ method: "GET", path: `/v1/tasks/${id}`, headers }));
    for (const call of calls) await until(client, call, status);
    return calls;
  };
  return { headers, submission, status };
}

async function until(client: Client, call: Call, status: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++, await sleep(100)) {
    const { data } = JSON.parse(await client.send(call)) as { data: { status: string } };
    if (data.status === status) return;
  }
  throw new Error(`${call.path} did not come to be ${status}`);
}

/** The floor's requests, with a gateway's headers. */
export async function floorCalls(client: Client, headers: Record<string, string>) {
  const submission: Call = { method: "POST", path: "/records", headers, body: image };
  const made = await Promise.all(Array.from({ length: tasks }, async () => JSON.parse(await client.send(submission)) as { id: string }));
  return { submission, status: made.map(({ id }): Call => ({ method: "GET", path: `/records/${id}`, headers })) };
}
