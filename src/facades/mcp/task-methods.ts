/** The tasks extension of the protocol (SEP-2663): each generation is a task with the same id as in the API. */

import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type ClientCapabilities,
  type Server,
} from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { recordSeconds } from "../../base/life-times.ts";
import { ApiRefusal } from "./errors.ts";
import { isFinal, toSegment, type TaskData } from "../client.ts";
import { taskResult } from "./results.ts";
import type { Caller } from "./context.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The minimum time for which a record is kept after its creation. */
const ttlMs = 1000 * recordSeconds;
const pollIntervalMs = 3_000;

/** True if the client declared for this request that it accepts a task instead of a result. */
export function wantsTask(envelope: object | undefined): boolean {
  const capabilities = (envelope as Record<string, ClientCapabilities> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const extensions = capabilities?.extensions;
  return extensions !== undefined && Object.hasOwn(extensions, tasksExtension);
}

const statuses = { queued: "working", in_progress: "working", completed: "completed", failed: "completed" };

/** A task in the extension's format. There a failed task is completed, with an error as its result. */
export function protocolTask({ id, status, progress, created_at, completed_at, error }: TaskData) {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  return {
    taskId: id,
    status: error?.code === "cancelled" ? "cancelled" : statuses[status],
    statusMessage: error?.message ?? `${status}, ${progress} %`,
    createdAt: at(created_at),
    lastUpdatedAt: completed_at === undefined ? new Date().toISOString() : at(completed_at),
    ttlMs,
    pollIntervalMs,
  };
}

const params = z.looseObject({ taskId: z.string() });

/** Answers `tasks/get`, `tasks/cancel` and `tasks/update` with the API's own tasks. */
export function addTaskMethods(server: Server, { client }: Caller): void {
  const refuse = (error: unknown) => {
    throw error instanceof ApiRefusal ? new ProtocolError(ProtocolErrorCode.InvalidParams, error.message) : error;
  };
  const read = (taskId: string) => client.readTask(taskId).catch(refuse);
  server.setRequestHandler("tasks/get", { params }, async ({ taskId }) => {
    const data = await read(taskId);
    const task = protocolTask(data);
    return {
      ...task,
      ...(isFinal(data) && task.status === "completed" && { result: { resultType: "complete", ...(await taskResult(client, data)) } }),
    };
  });
  server.setRequestHandler("tasks/cancel", { params }, async ({ taskId }) => {
    // In the extension, cancelling a task that has ended changes nothing and is not an error.
    if (!isFinal(await read(taskId))) await client.ask(`/v1/tasks/${toSegment(taskId)}/cancel`, { method: "POST" }).catch(refuse);
    return {};
  });
  // The gateway's tasks never ask for input, so none is expected.
  server.setRequestHandler("tasks/update", { params }, async ({ taskId }) => {
    await read(taskId);
    return {};
  });
}
