/**
 * JSON Schemas of the tools' results. They contain the fields that are always present and those that agents read; results may have more
 * fields.
 */

import { taskStatuses } from "../../base/words.ts";
import type { TaskData } from "../client.ts";

const object = (properties: object, required: string[] = Object.keys(properties)) => ({ type: "object" as const, properties, required });
const text = { type: "string" };
const number = { type: "number" };
const list = (items: object) => ({ type: "array", items });

/** The fields of a task; `delivery` is of no use to an agent, which has the links. */
type TaskFields = Record<Exclude<keyof TaskData, "id" | "object" | "delivery"> | "task_id", object>;

const record = object(
  {
    task_id: text,
    status: { type: "string", enum: taskStatuses },
    progress: { type: "integer", minimum: 0, maximum: 100 },
    model: text,
    created_at: { type: "integer", description: "Unix seconds" },
    completed_at: { type: "integer", description: "Unix seconds" },
    estimated_time: { type: "integer", description: "Seconds still expected" },
    expires_at: { type: "integer", description: "When the links expire, Unix seconds" },
    reference: text,
    metadata: { type: "object", description: "The resolved parameters" },
    cost: object({ reserved: number, charged: number, returned: number }, ["reserved"]),
    result: {
      type: "object",
      description: "When completed",
      properties: {
        images: list(object({ url: list(text) })),
        videos: list(object({ url: list(text), thumbnail: text, duration: number, size: text }, ["url"])),
        files: list(object({ url: list(text), type: text, bytes: number })),
        data: object({ characters: list(object({ id: text, username: text, display_name: text, profile_picture_url: text })) }, []),
      },
    },
    error: object({ code: text, message: text }),
  } satisfies TaskFields,
  ["task_id", "status", "progress", "model", "created_at", "metadata", "cost"],
);

const balance = {
  success: { type: "boolean" },
  remain_balance: { type: "number", description: "-1 when unlimited" },
  used_balance: number,
  unlimited_quota: { type: "boolean" },
};

const estimate = object({
  kind: text,
  model: text,
  price: number,
  remaining_after: { type: "number", description: "-1 when unlimited" },
  estimated_time: number,
  metadata: { type: "object" },
});

export const outputs = {
  task: record,
  /** A task, or the estimate of a dry run: one object with the fields of both, because hosts do not support alternatives here. */
  submission: object({ ...record.properties, ...estimate.properties }, ["model", "metadata"]),
  tasks: object({ data: list(record), has_more: { type: "boolean" }, next_after: text }, ["data", "has_more"]),
  models: object({
    data: list(object({ id: text, kind: text, aliases: list(text), parameters: { type: "object" }, price: { type: "object" } })),
  }),
  estimate,
  balance: object({
    ...balance,
    account: object(balance),
    key: { type: "object", description: "The key's limits, and what is left of them" },
  }),
};
