/** Converts the API's tasks to tool results: a text, the record, links to the files, and small images themselves. */

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { ApiClient } from "./api-client.ts";

/** `data` of the API's generic task query. */
export interface TaskData {
  id: string;
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  progress: number;
  created_at: number;
  completed_at?: number;
  expires_at?: number;
  estimated_time?: number;
  cost: { reserved: number; charged?: number; returned?: number };
  metadata: { kind: string };
  result?: {
    images?: { url: string[] }[];
    videos?: { url: string[]; thumbnail?: string; duration: number; size: string }[];
    data?: { characters: { id: string; username: string; display_name: string; profile_picture_url: string }[] };
  };
  error?: { code: string; message: string };
}

/** An image of this size or more is returned as a link only. */
const maxInlineBytes = 1_000_000;

export const isFinal = ({ status }: TaskData) => status === "completed" || status === "failed";

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
    const charged = cost.charged ? `${cost.charged} was charged.` : "Nothing was charged.";
    return `The task failed (${error?.code}): ${error?.message} ${charged} ${remedies[error?.code ?? ""] ?? ""}`.trim();
  }
  if (status !== "completed") {
    const left = estimated_time === undefined ? "" : `, about ${estimated_time} seconds left`;
    return `The task is not finished (${status}, ${progress} %${left}). Call wait_for_task with task_id "${id}"; do not submit it again.`;
  }
  const username = result?.data?.characters[0]?.username;
  const use = username === undefined ? "" : ` Write @${username} in a video's prompt to use the character.`;
  const until = expires_at === undefined ? "" : ` The links expire at ${new Date(expires_at * 1000).toISOString()}.`;
  return `The ${metadata.kind} is ready; ${cost.charged} was charged.${use}${until}`;
}

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
    ...videos.flatMap(({ thumbnail }) => (thumbnail === undefined ? [] : [image(thumbnail, "thumbnail")])),
    ...(result?.data?.characters ?? []).map((character) => image(character.profile_picture_url, character.username)),
  ];
}

/** The content type, from the name of the stored file. */
function imageType(uri: string): string {
  const { pathname } = new URL(uri);
  return pathname.endsWith(".webp") ? "image/webp" : /\.jpe?g$/.test(pathname) ? "image/jpeg" : "image/png";
}

async function inlineImage(client: ApiClient, uri: string): Promise<ContentBlock | undefined> {
  const file = await client.file(uri, maxInlineBytes);
  return file && { type: "image", data: file.bytes.toBase64(), mimeType: file.type };
}
