/** Words that queries and answers share. In a file without schemas, because the gateway's script contains only the schemas of requests. */

export const taskStatuses = ["queued", "in_progress", "completed", "failed"] as const;
export const taskKinds = ["image", "video", "character", "remix", "file"] as const;

/** The makers that publish the schemas of their models' inputs (`providers/maker-schemas.ts`). */
export const schemaMakers = ["fal", "replicate", "cloudflare"] as const;
