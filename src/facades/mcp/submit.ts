/** Submissions of tools: each with an idempotency key computed from the session and the arguments, so that a repeat is charged once. */

import type { CallToolResult } from "@modelcontextprotocol/server";
import { sha256Hex } from "../../base/ids.ts";
import { isFinal, type TaskData } from "../client.ts";
import { ApiRefusal } from "./errors.ts";
import { taskResult } from "./results.ts";
import { protocolTask } from "./task-methods.ts";
import type { Arguments, Context } from "./context.ts";
import { maxWaitSeconds, waitFor } from "./wait.ts";
import { modelNamed } from "./models.ts";

/** How many tasks the same call makes one after the other if each fails, while the gateway keeps their records. */
const maxAttempts = 5;

const repeated =
  "This is the task of an earlier call with the same arguments: nothing was submitted or charged again. " +
  "To make another, give the argument variation a value that was not used before.";
const failedOften = "It failed each time. Change the arguments, or give the argument variation a value that was not used before.";

/**
 * Submits `body` to `path` and waits for the task as long as the arguments allow. A repeated call gets the task of the first one, unless
 * that task failed: then it is submitted again. Throws `ApiRefusal`.
 */
export async function submit(path: string, args: Arguments, body: Arguments, context: Context, seconds: number): Promise<CallToolResult> {
  const { client, models, session, tool, asTask } = context;
  const model = modelNamed(models, body["model"])?.id ?? body["model"];
  const sent = canonical({ ...body, model }) as Arguments;
  let key = `mcp-${await sha256Hex(JSON.stringify([session, tool, path, sent, canonical(args["variation"])]))}`;
  for (let attempt = 1; ; attempt++) {
    const answer = await client.ask(path, { body: sent, headers: { "idempotency-key": key } });
    const submitted = await answer.json<{ id: string }>();
    const isRepeat = answer.headers.has("idempotent-replayed");
    const wait = (most: number) => waitFor(submitted.id, most, context).catch(nameTask(submitted.id));
    const now = isRepeat || asTask ? await wait(0) : undefined;
    const hasFailed = isRepeat && now?.status === "failed";
    if (hasFailed && attempt < maxAttempts) {
      key = `mcp-${await sha256Hex(`${key}\n${submitted.id}`)}`;
      continue;
    }
    if (now && asTask) return { resultType: "task", ...protocolTask(now) } as unknown as CallToolResult;
    const task: TaskData = now && isFinal(now) ? now : await wait(Math.min(seconds, maxWaitSeconds));
    return taskResult(client, task, hasFailed ? failedOften : isRepeat ? repeated : undefined);
  }
}

/** A task that was submitted goes on, whatever hinders the wait for it: the refusal names it, or the language model would submit another one. */
const nameTask = (id: string) => (error: unknown) => {
  if (!(error instanceof ApiRefusal)) throw error;
  throw new ApiRefusal(`The task is submitted. Call wait_for_task with task_id "${id}"; do not submit it again.\n${error.message}`);
};

/** The same value with sorted fields and without nulls, so that equal calls are recognised. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, canonical(field)]));
}
