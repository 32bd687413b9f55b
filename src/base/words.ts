/** Words that records, providers, queries, answers and pages share. In a file without schemas, because the gateway's script contains only the schemas of requests. */

/** What a task makes. `file`: whatever a model with its own input makes, such as audio, 3D objects and text. */
export const taskKinds = ["image", "video", "character", "remix", "file"] as const;
export const taskStatuses = ["queued", "in_progress", "completed", "failed"] as const;
/** Tasks and chats: what keys are limited to, and what is charged. */
export const workKinds = ["chat", ...taskKinds] as const;
/** What models make beside texts. */
export const fileFamilies = ["image", "video", "file"] as const;
/** The reasons why a task failed (contract, section 2). */
export const failureCodes = ["content_policy_violation", "provider_error", "invalid_input", "deadline_exceeded", "cancelled"] as const;
/** The events of an account's tasks, in `/v1/events` and as webhooks. */
export const taskEvents = ["task.completed", "task.failed", "task.delivered", "task.delivery_failed"] as const;

/**
 * Why a call of a receiver has no HTTP status. `timeout`: no answer within 10 seconds. `unreachable`: no connection. `blocked_url`: the address
 * is not public. `interrupted`: the gateway ended before it could report, or the connection broke.
 */
export const callbackFaults = ["timeout", "unreachable", "blocked_url", "interrupted"] as const;
/** Why files were not delivered. `changed`: the far end has other bytes. `no_destination`: the destination was removed. The others as above. */
export const deliveryFaults = [...callbackFaults, "changed", "no_destination"] as const;
export const batchStatuses = ["validating", "in_progress", "completed", "cancelled", "failed"] as const;
/** What a batch waits for. */
export const batchWaits = ["balance", "key", "open_tasks"] as const;

/** The makers that publish the schemas of their models' inputs (`operations/maker-schemas.ts`). */
export const schemaMakers = ["fal", "replicate", "cloudflare"] as const;
