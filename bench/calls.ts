/** The requests to both servers: for a new key, and to tasks with a given status. */

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { account as accountAnswer } from "../src/api/schema/admin.ts";
import { newApiKey } from "../src/api/schema/keys.ts";
import { submission as submissionAnswer, taskAnswer } from "../src/api/schema/tasks.ts";
import type { Call, Client } from "./load.ts";

export const adminToken = "bench-admin";
export const gatewayBindings = {
  RATE_LIMITS: "off",
  MAX_OPEN_TASKS: "1000000", // tasks of a run stay open
  ADMIN_TOKEN: adminToken,
  ASSET_SIGNING_SECRET: "bench-signing-secret",
  SEALING_KEY: "bench-sealing-key",
};

// Only these fields of the API's schemas are read, and others are allowed: the gateway of another commit may send more or fewer.
const taskId = z.object({ id: submissionAnswer.shape.id });
const taskStatus = z.object({ data: z.object({ status: taskAnswer.shape.data.shape.status }) });
const newAccount = z.object({ id: accountAnswer.shape.id });
const newKey = z.object({ key: newApiKey.shape.key });

const tasks = 16;
const image = JSON.stringify({ model: "imgA-4", prompt: "A lighthouse at dawn, long exposure", size: "16:9", n: 1 });
const video = JSON.stringify({ model: "vidA-2", prompt: "A fox in a red scarf reads a letter aloud", duration: 10 });

// Headers that browsers and libraries send too: both servers parse them, whether they use them or not.
const buildHeaders = (key: string) => ({ authorization: `Bearer ${key}`, accept: "application/json", "user-agent": "bench/1" });

/** The headers for a new key of a new account. */
export async function freshHeaders(client: Client, email = "bench@example.com"): Promise<Record<string, string>> {
  const admin = { method: "POST", headers: buildHeaders(adminToken) } as const;
  const post = async (path: string, body: object): Promise<unknown> =>
    JSON.parse(await client.send({ ...admin, path, body: JSON.stringify(body) }));
  const { id } = newAccount.parse(await post("/admin/accounts", { email, quota: 1_000_000 }));
  const { key } = newKey.parse(await post(`/admin/accounts/${id}/keys`, { name: "bench", quota: 1_000_000 }));
  return buildHeaders(key);
}

/** The id in the answer to a submission. */
export const readTaskId = (text: string) => taskId.parse(JSON.parse(text)).id;
/** The status in the answer of the generic query. */
export const readStatus = (text: string) => taskStatus.parse(JSON.parse(text)).data.status;

/** A gateway's requests for a new key. */
export async function gatewayCalls(client: Client) {
  const headers = await freshHeaders(client);
  const submission: Call = { method: "POST", path: "/v1/images/generations", headers, body: image };

  /** Status queries of new tasks that have reached this status. */
  const status = async (status: "in_progress" | "completed"): Promise<Call[]> => {
    const submit: Call = status === "completed" ? submission : { ...submission, path: "/v1/videos/generations", body: video };
    const made = await Promise.all(Array.from({ length: tasks }, async () => readTaskId(await client.send(submit))));
    const calls = made.map((id): Call => ({ method: "GET", path: `/v1/tasks/${id}`, headers }));
    for (const call of calls) await until(client, call, status);
    return calls;
  };
  return { headers, submission, status };
}

async function until(client: Client, call: Call, status: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++, await sleep(100)) {
    if (readStatus(await client.send(call)) === status) return;
  }
  throw new Error(`${call.path} did not come to be ${status}`);
}

/** The floor's requests, with a gateway's headers. */
export async function floorCalls(client: Client, headers: Record<string, string>) {
  const submission: Call = { method: "POST", path: "/records", headers, body: image };
  const record = z.object({ id: z.string() });
  const made = await Promise.all(Array.from({ length: tasks }, async () => record.parse(JSON.parse(await client.send(submission)))));
  return { submission, status: async () => made.map(({ id }): Call => ({ method: "GET", path: `/records/${id}`, headers })) };
}
