/** The account's files that a chat names in place of an image's URL: found when it is checked, and sent to its upstream as data URIs. */

import { ApiError, refuse } from "../../base/errors.ts";
import type { Caller } from "../../db/callers.ts";
import type { StoredFile } from "../../db/files.ts";
import { openAsset } from "../../storage/assets.ts";
import { largeBody } from "../request/body.ts";
import type { ChatMemory } from "../request/large-body.ts";
import { findFiles, type NamedFile, useBytes } from "../submissions/files.ts";

/** The files by id, with the field that names each first, and the length in Base64 in all fields that name it. Empty for most chats. */
export type ChatFiles = Map<string, { file: StoredFile; param: string; length: number }>;

const none: ChatFiles = new Map();

/** The length of a file in Base64. */
const encodedBytes = ({ bytes }: StoredFile) => 4 * Math.ceil(bytes / 3);

const sumBytes = (files: ChatFiles): number => [...files.values()].reduce((sum, { length }) => sum + length, 0);

/**
 * Finds the files of a checked body. Throws 400 at the field of an unknown, foreign or expired file, of one that is not an image, and of one
 * that could not be inline; 413 if they have more than `maxBytes` in Base64 together, by default what the body leaves of the largest one.
 */
export async function findChatFiles(env: Env, caller: Caller, body: Record<string, unknown>, maxBytes?: number): Promise<ChatFiles> {
  const named = listNamed(body["messages"] as Message[]);
  if (named.length === 0) return none;
  const { files, violations } = await findFiles(env, caller, named);
  refuse(violations);
  const found: ChatFiles = new Map();
  for (const { id, param } of named) {
    const file = files.get(id);
    if (!file) continue;
    const first = found.get(id) ?? { file, param, length: 0 };
    found.set(id, { ...first, length: first.length + encodedBytes(file) });
  }
  if (sumBytes(found) > (maxBytes ?? largeBody - new TextEncoder().encode(JSON.stringify(body)).length))
    throw new ApiError("body_too_large", {
      violations: [{ param: "messages", rule: "image_too_large", values: { maximum: largeBody / 2 ** 20 } }],
    });
  return found;
}

/** The bodies of the routes with the files' data URIs in place of their ids. Throws 400 at the field of a file that is gone since it was found. */
export async function fillFiles<T extends { body: Record<string, unknown> }>(env: Env, files: ChatFiles, routes: T[]): Promise<T[]> {
  if (files.size === 0) return routes;
  const urls = new Map<string, string>();
  for (const [id, { file, param }] of files) urls.set(id, await readUrl(env, file, param));
  return routes.map((route) => ({ ...route, body: { ...route.body, messages: fillMessages(route.body["messages"] as Message[], urls) } }));
}

/** Runs the work under a permit for the files' bytes. */
export const withFilesInMemory = <T>(memory: ChatMemory, files: ChatFiles, work: () => Promise<T>): Promise<T> =>
  memory.take(sumBytes(files), work);

interface Part {
  type: string;
  image_url?: { url: string };
}

interface Message {
  content?: string | Part[] | null;
}

function listNamed(messages: Message[]): NamedFile[] {
  return messages.flatMap(({ content }, at) =>
    Array.isArray(content)
      ? content.flatMap(({ image_url: image }, index): NamedFile[] =>
          image?.url.startsWith("file_")
            ? [{ param: `messages[${at}].content[${index}].image_url.url`, id: image.url, is: "image", maxBytes: (largeBody * 3) / 4 }]
            : [],
        )
      : [],
  );
}

const fillMessages = (messages: Message[], urls: Map<string, string>): Message[] =>
  messages.map((message) => {
    if (!Array.isArray(message.content)) return message;
    const content = message.content.map((part) => {
      const url = part.image_url && urls.get(part.image_url.url);
      return url === undefined ? part : { ...part, image_url: { ...part.image_url, url } };
    });
    return { ...message, content };
  });

async function readUrl(env: Env, file: StoredFile, param: string): Promise<string> {
  const stored = await useBytes(env, file, param, (key) => openAsset(env.ASSETS, key));
  return `data:${file.type};base64,${(await stored.bytes()).toBase64()}`;
}
