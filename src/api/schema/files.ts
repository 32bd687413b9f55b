/** Schemas of answers about the caller's files. */

import * as z from "zod/mini";
import { count, listAnswer, sha256, time } from "./shared.ts";

export const file = z.strictObject({
  id: z.string().check(z.regex(/^file_[A-Za-z0-9_-]{55}$/)),
  object: z.literal("file"),
  type: z
    .enum(["image/png", "image/jpeg", "image/webp", "video/mp4", "video/quicktime", "application/jsonl"])
    .check(z.describe("What the bytes are, whatever the request said.")),
  bytes: count,
  sha256,
  created_at: time,
  expires_at: time,
});
export const fileList = listAnswer(file);
