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

/** The makers that publish the schemas of their models' inputs (`providers/maker-schemas.ts`). */
export const schemaMakers = ["fal", "replicate", "cloudflare"] as const;
