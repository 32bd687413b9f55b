/** The files of a batch's results as one ZIP archive, read from the results page by page while it is sent. */

import type { ZipEntry } from "../../media/zip.ts";
import { assetPrefix } from "../../storage/assets.ts";

/** A part of the results, as the batch's object returns them. */
export interface ResultsPart {
  text: string;
  next: number | undefined;
}

/** What the archive needs of a line of the results. */
interface ResultLine {
  custom_id: string | null;
  task?: string;
  response?: {
    completed_at?: number;
    result?: {
      images?: { url: string[] }[];
      videos?: { url: string[]; thumbnail?: string }[];
      files?: { url: string[] }[];
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
  const taken = new Names();
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
function nameFiles({ custom_id: customId, task, response }: ResultLine, taken: Names): { name: string; key: string }[] {
  const { images = [], videos = [], files = [] } = response?.result ?? {};
  const all = [...images, ...videos, ...files].flatMap(({ url }) => url);
  const stem = toFileName(customId ?? "line");
  return [
    ...all.map((url, at) => ({ url, stem: all.length > 1 ? `${stem}-${at + 1}` : stem })),
    ...videos.flatMap(({ thumbnail }) => (thumbnail === undefined ? [] : [{ url: thumbnail, stem: `${stem}-thumbnail` }])),
  ].flatMap(({ url, stem: wanted }) => {
    const key = task === undefined ? undefined : keyBehind(url, task);
    return key === undefined ? [] : [{ key, name: taken.unused(wanted, /\.[a-z0-9]+$/.exec(key)?.[0] ?? "") }];
  });
}

/** A `custom_id` as a file's name: without separators of paths and what Windows forbids, and composed, because macOS takes `é` and `e` with its accent for one name. */
const toFileName = (customId: string) =>
  customId
    .normalize()
    .replace(/[\\/:*?"<>|]|^\.+|[. ]+$/g, "_")
    .slice(0, 100) || "line";

/** The key of the line's own file behind a URL, whose host and path before it are the operator's; undefined for other URLs. */
function keyBehind(url: string, task: string): string | undefined {
  const path = URL.parse(url)?.pathname ?? "";
  const key = path.slice(path.lastIndexOf(`/${assetPrefix(task)}`) + 1);
  return key.startsWith(assetPrefix(task)) && /^[\w.-]+$/.test(key.slice(assetPrefix(task).length)) ? key : undefined;
}

/** The names of an archive's files, each of which is used once, also where upper and lower case are the same. */
class Names {
  readonly #taken = new Set<string>();
  /** The last number that was added to a name. */
  readonly #numbers = new Map<string, number>();

  unused(stem: string, ending: string): string {
    const wanted = (stem + ending).toLowerCase();
    let name = stem + ending;
    for (let at = (this.#numbers.get(wanted) ?? 1) + 1; this.#taken.has(name.toLowerCase()); at++) {
      name = `${stem} (${at})${ending}`;
      this.#numbers.set(wanted, at);
    }
    this.#taken.add(name.toLowerCase());
    return name;
  }
}
