/** The files of a batch's results as one ZIP archive, read from the results page by page while it is sent. */

import type { ZipEntry } from "../../media/zip.ts";

/** A part of the results, as the batch's object returns them. */
export interface ResultsPart {
  text: string;
  next: number | undefined;
}

/** What the archive needs of a line of the results. */
interface ResultLine {
  custom_id: string | null;
  response?: {
    completed_at?: number;
    result?: {
      images?: { url: string[] }[];
      videos?: { url: string[]; thumbnail?: string }[];
      files?: { url: string[] }[];
      data?: { characters?: { profile_picture_url: string }[] };
    };
  };
}

/**
 * The files of the completed lines in the order of the input. A line's file is called like its `custom_id`; several are numbered. Throws if the
 * batch is removed meanwhile.
 */
export async function* listArchive(
  first: ResultsPart,
  read: (from: number) => Promise<ResultsPart | null>,
  open: (key: string) => Promise<ReadableStream<Uint8Array> | undefined>,
): AsyncGenerator<ZipEntry, void> {
  const taken = new Set<string>();
  for (let part: ResultsPart | null = first; ;) {
    for (const text of part.text.split("\n")) {
      if (text === "") continue;
      const line = JSON.parse(text) as ResultLine;
      const at = (line.response?.completed_at ?? 0) * 1000;
      for (const { name, key } of nameFiles(line, taken)) yield { name, at, open: () => open(key) };
    }
    if (part.next === undefined) return;
    part = await read(part.next);
    if (!part) throw new Error("the batch is gone");
  }
}

/** The names and the keys in the bucket of a line's files. */
function nameFiles({ custom_id: customId, response }: ResultLine, taken: Set<string>): { name: string; key: string }[] {
  const { images = [], videos = [], files = [], data } = response?.result ?? {};
  const made = [...images, ...videos, ...files].flatMap(({ url }) => url);
  const pictures = Array.isArray(data?.characters) ? data.characters.map((character) => character.profile_picture_url) : [];
  const all = [...made, ...pictures];
  const stem = toFileName(customId ?? "line");
  return [
    ...all.map((url, at) => ({ url, stem: all.length > 1 ? `${stem}-${at + 1}` : stem })),
    ...videos.flatMap(({ thumbnail }) => (thumbnail === undefined ? [] : [{ url: thumbnail, stem: `${stem}-thumbnail` }])),
  ].flatMap(({ url, stem: wanted }) => {
    const key = URL.parse(url)?.pathname.slice(1);
    return key === undefined ? [] : [{ key, name: unused(wanted, /\.[a-z0-9]+$/.exec(key)?.[0] ?? "", taken) }];
  });
}

/** A `custom_id` as a file's name: without separators of paths and what Windows forbids. */
const toFileName = (customId: string) => customId.replace(/[\\/:*?"<>|]|^\.+|[. ]+$/g, "_").slice(0, 100) || "line";

/** A name that no earlier file has, also where upper and lower case are the same. */
function unused(stem: string, ending: string, taken: Set<string>): string {
  let name = stem + ending;
  for (let at = 2; taken.has(name.toLowerCase()); at++) name = `${stem} (${at})${ending}`;
  taken.add(name.toLowerCase());
  return name;
}
