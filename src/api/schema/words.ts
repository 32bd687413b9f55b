/** Words that queries and answers share. In a file without schemas: the gateway's script has only those of requests. */

export const taskStatuses = ["queued", "in_progress", "completed", "failed"] as const;
export const taskKinds = ["image", "video", "character", "remix"] as const;
