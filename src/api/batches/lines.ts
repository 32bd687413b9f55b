/** The lines of a batch's input: found in bytes, parsed, and checked like a submission. */

import { ApiError, invalid, notOneOf, type Violation } from "../../base/errors.ts";
import { parseObject } from "../request/body.ts";
import type { SubmissionRequest } from "../submissions/submission.ts";

export const maxLines = 50_000;
/** Images are named as files or URLs, so a line has no more than another body without inline images. */
export const maxLineBytes = 1024 * 1024;

/** A line that could be parsed. */
export interface Line {
  customId: string;
  endpoint: SubmissionRequest["endpoint"] | "chat";
  /** The task whose video a remix starts from. */
  videoId: string | undefined;
  path: string;
  body: Record<string, unknown>;
  /** Of a line of OpenAI's paths: what its answer shows of the request. */
  openAi?: unknown;
}

const remix = "/v1/videos/{id}/remix";
const targets = new Map<unknown, Line["endpoint"]>([
  ["/v1/images/generations", "image"],
  ["/v1/videos/generations", "video"],
  [remix, "remix"],
  ["/v1/chat/completions", "chat"],
  ["/v1/tasks", "task"],
]);

/**
 * The first lines of these bytes as offsets, at most `limit`, without those of white space only. The last line counts only if it ends with a
 * line break, or if `isEnd`. `next` is the offset behind the last line.
 */
export function findLines(bytes: Uint8Array, isEnd: boolean, limit = Infinity): { lines: { at: number; bytes: number }[]; next: number } {
  const lines: { at: number; bytes: number }[] = [];
  let next = 0;
  while (next < bytes.length && lines.length < limit) {
    const found = bytes.indexOf(0x0a, next);
    if (found === -1 && !isEnd) break;
    const end = found === -1 ? bytes.length : found;
    if (bytes.subarray(next, end).some((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d))
      lines.push({ at: next, bytes: end - next });
    next = end + 1;
  }
  return { lines, next: Math.min(next, bytes.length) };
}

/** Parses a line. Throws 400 with every violation; the id of the line is set even then, if it has one. */
export function parseLine(bytes: Uint8Array, found: { customId: string | null }): Line {
  if (bytes.length > maxLineBytes) throw invalid("line", "too_long", { maximum: maxLineBytes });
  const { custom_id: customId, endpoint: path, body, openai: openAi } = parseObject(bytes);
  const violations: Violation[] = [];
  const isId = typeof customId === "string" && /^\P{Cc}{1,128}$/u.test(customId);
  if (isId) found.customId = customId;
  else violations.push({ param: "custom_id", rule: customId === undefined ? "required" : "bad_custom_id" });
  const videoId = typeof path === "string" ? /^\/v1\/videos\/([\w-]+)\/remix$/.exec(path)?.[1] : undefined;
  const endpoint = videoId !== undefined ? "remix" : path === remix ? undefined : targets.get(path);
  if (!endpoint) {
    const wrong = notOneOf("endpoint", [...targets.keys()]);
    violations.push(path === undefined ? { ...wrong, rule: "required" } : wrong);
  }
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  if (!isObject) violations.push({ param: "body", rule: body === undefined ? "required" : "wrong_type", values: { expected: "object" } });
  if (!isId || !endpoint || !isObject) throw new ApiError("invalid_request", { violations });
  return { customId, endpoint, videoId, path: path as string, body: body as Record<string, unknown>, openAi };
}
