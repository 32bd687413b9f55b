/** Converts the API's tasks to tool results: a text, the record, links to the files, and small images themselves. */

import type { CallToolResult, ContentBlock, ImageContent } from "@modelcontextprotocol/server";
import { type ApiClient, filePath, type TaskData } from "../client.ts";

/** An image of this size or more is returned as a link only. */
const maxInlineBytes = 1_000_000;

/** The task's record in tool results: that of the API, except for the name of its id field. */
export const toRecord = ({ id, ...rest }: TaskData) => ({ task_id: id, ...rest });

/** The tool result for a task in any state. A failed task is an error result. `note` is the first sentence. */
export async function taskResult(client: ApiClient, data: TaskData, note?: string): Promise<CallToolResult> {
  const record = toRecord(data);
  const files = listFiles(data);
  const inline = await Promise.all(files.filter(({ isImage }) => isImage).map(({ uri }) => inlineImage(client, uri)));
  return {
    content: [
      { type: "text", text: [note, summary(data)].filter((sentence) => sentence !== undefined).join(" ") },
      { type: "text", text: JSON.stringify(record) },
      ...files.map(({ uri, name, mimeType }): ContentBlock => ({ type: "resource_link", uri, name, mimeType })),
      ...inline.flatMap((image) => image ?? []),
    ],
    structuredContent: record,
    ...(data.status === "failed" && { isError: true }),
  };
}

function summary({ id, status, progress, estimated_time, cost, error, expires_at, result, metadata }: TaskData): string {
  if (status === "failed") {
    const { code = "", message = "" } = error ?? {};
    const charged = cost.charged ? `${cost.charged} was charged.` : "Nothing was charged.";
    const parts = [`The task failed (${code}): ${message}`, saysCharge.has(code) ? "" : charged, remedies[code] ?? ""];
    return parts.filter((part) => part !== "").join(" ");
  }
  if (status !== "completed") {
    const left = estimated_time === undefined ? "" : `, about ${estimated_time} seconds left`;
    return `The task is not finished (${status}, ${progress} %${left}). Call wait_for_task with task_id "${id}"; do not submit it again.`;
  }
  const username = charactersOf(result)[0]?.username;
  const use = username === undefined ? "" : ` Write @${username} in a video's prompt to use the character.`;
  const until = expires_at === undefined ? "" : ` The links expire at ${new Date(expires_at * 1000).toISOString()}.`;
  return `The ${metadata.kind} is ready; ${cost.charged} was charged.${use}${until}`;
}

/** The characters of a result; `data` of a model with its own input is something else. */
const charactersOf = (result: TaskData["result"]) => (result?.type === "character" ? (result.data?.characters ?? []) : []);

/** The errors whose messages say already that nothing was charged. */
const saysCharge = new Set(["provider_error", "deadline_exceeded"]);

/** The next step after a task has failed for this reason. */
const remedies: Record<string, string> = {
  content_policy_violation: "Change the prompt.",
  invalid_input: "Use another image or video.",
  provider_error: "Call again to try once more.",
  deadline_exceeded: "Call again to try once more.",
};

function listFiles({ result, metadata }: TaskData): { uri: string; name: string; mimeType: string; isImage: boolean }[] {
  const image = (uri: string, name: string) => ({ uri, name, mimeType: imageType(uri), isImage: true });
  const images = (result?.images ?? []).flatMap(({ url }) => url);
  const videos = result?.videos ?? [];
  return [
    ...images.map((uri, at) => image(uri, images.length === 1 ? "image" : `image-${at + 1}`)),
    ...videos.flatMap(({ url }) => url.map((uri) => ({ uri, name: metadata.kind, mimeType: "video/mp4", isImage: false }))),
    ...(result?.files ?? []).flatMap(({ url, type }, at) =>
      url.map((uri) => ({ uri, name: `file-${at + 1}`, mimeType: type, isImage: false })),
    ),
    ...videos.flatMap(({ thumbnail }) => (thumbnail === undefined ? [] : [image(thumbnail, "thumbnail")])),
    ...charactersOf(result).map((character) => image(character.profile_picture_url, character.username)),
  ];
}

/** The content type, from the name of the stored file. */
function imageType(uri: string): string {
  const { pathname } = new URL(uri);
  return pathname.endsWith(".webp") ? "image/webp" : /\.jpe?g$/.test(pathname) ? "image/jpeg" : "image/png";
}

/** A stored image by its signed URL; undefined if it has `maxBytes` or more, or cannot be read. */
export async function inlineImage(client: ApiClient, url: string, maxBytes = maxInlineBytes): Promise<ImageContent | undefined> {
  const path = filePath(url);
  const head = await client.send(path, { method: "HEAD" });
  if (!head.ok || Number(head.headers.get("content-length") ?? Infinity) >= maxBytes) return undefined;
  const file = await client.send(path);
  if (!file.ok) return undefined;
  return { type: "image", data: (await file.bytes()).toBase64(), mimeType: file.headers.get("content-type") ?? "application/octet-stream" };
}
