/** Downloads: the file of a task under a name of its own, or the files of several tasks as one archive. */

import type { ConsoleContext } from "../context.ts";
import { sendFile } from "../downloads.ts";
import { zip } from "../../media/zip.ts";
import { openAsset } from "../../storage/assets.ts";
import type { Task } from "../../tasks/record.ts";
import { listAssets } from "../../tasks/answers/views.ts";
import { nothingHere } from "../frame.tsx";
import { readRecord } from "./answers.ts";
import { toDate } from "../../base/times.ts";

interface File {
  key: string;
  type: string;
  bytes: number;
  name: string;
  at: number;
}

/** The files of a task that still exist: `{task}.png`, or with numbers if there are several. */
function listFiles({ id, result, expiresAt, finalAt }: Task): File[] {
  if (!result || (expiresAt ?? 0) <= Date.now()) return [];
  const assets = listAssets(result);
  return assets.map(({ key, type, bytes }, at) => {
    const isThumbnail = result.kind === "video" && key === result.thumbnail?.key;
    const suffix = assets.length === 1 || (result.kind === "video" && at === 0) ? "" : isThumbnail ? "-thumbnail" : `-${at + 1}`;
    return { key, type, bytes, name: `${id}${suffix}${key.slice(key.lastIndexOf("."))}`, at: finalAt ?? 0 };
  });
}

/** Answers with the files of these tasks of the account: a single file unchanged, several as an archive. 404 if they have no files. */
export async function download(c: ConsoleContext, ids: string[]): Promise<Response> {
  const tasks = await Promise.all(ids.map((id) => readRecord(c, id)));
  const all = tasks.flatMap((task) => (task ? listFiles(task) : []));
  // A single video is downloaded as its file: only archives of several tasks contain the thumbnail.
  const files = ids.length === 1 && tasks[0]?.result?.kind === "video" && !tasks[0].result.files ? all.slice(0, 1) : all;
  const [first] = files;
  if (!first) return nothingHere(c);
  const open = async (key: string) => (await openAsset(c.env.ASSETS, key))?.body;
  if (files.length === 1) {
    const body = await open(first.key);
    if (!body) return nothingHere(c);
    return sendFile(c, first.name, first.type, body, first.bytes);
  }
  const [id] = ids;
  const name = ids.length === 1 ? `${id}.zip` : `gallery-${toDate(Date.now())}.zip`;
  const entries = files.map(({ key, ...file }) => ({ ...file, open: () => open(key) }));
  return sendFile(c, name, "application/zip", zip(entries));
}
