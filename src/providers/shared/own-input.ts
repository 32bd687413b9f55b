/** Own inputs: the body as the caller wrote it, and the files and the rest of an answer of any shape. */

import { isObject } from "../../base/is-object.ts";
import { checkPublicUrl } from "../../net/public-url.ts";
import { ownFailure, type Failed, type InputImage, type Job, type Output, type Succeeded } from "../provider.ts";
import { outputAt, toOutput } from "./http.ts";
import { jsonPieces, type Piece } from "./streamed-body.ts";

type Json = Record<string, unknown>;

/** An own input with its files' bytes as data URIs, in memory: for makers whose requests cannot be streamed. `read` may limit them. */
export async function writeOwnInput(job: Pick<Job, "input" | "images">, read: (image: InputImage) => Promise<string>): Promise<Json> {
  const input = structuredClone({ ...job.input }) as Json;
  for (const image of job.images) if (image.at) put(input, image.at, await read(image));
  return input;
}

/** The JSON body of an own input, with the bytes of its files as data URIs at their places. */
export function ownPieces({ images, ...job }: Pick<Job, "input" | "images">): Piece[] {
  const files = images.filter(({ at }) => at);
  return jsonPieces(files, (values) => {
    const input = structuredClone({ ...job.input }) as Json;
    for (const [index, { at = [] }] of files.entries()) put(input, at, values[index]);
    return input;
  });
}

function put(input: Json, at: readonly (string | number)[], value: unknown): void {
  const parent = at.slice(0, -1).reduce<unknown>((found, step) => (found as Record<string | number, unknown>)[step], input);
  (parent as Record<string | number, unknown>)[at.at(-1)!] = value;
}

/** How a maker's answers name files. */
interface Reading {
  /** True if a text that is a whole URL is a file of this maker: other makers name files only in objects with a `url`. */
  takesTexts?: boolean;
  /** Texts that stand for files which are already stored. */
  kept?: ReadonlyMap<string, Output>;
}

/**
 * The verdict of an answer to an own input: every file, and `data` with the rest. URLs that are no files are left out of it, because
 * they are the maker's, and so are addresses that are not public, which a caller's text could have named. Failed if nothing is left.
 */
export function readOwnAnswer(answer: unknown, { takesTexts = false, kept }: Reading = {}): Succeeded | Failed {
  const outputs: Output[] = [];
  const toFile = (text: string, name: unknown): void => {
    const inline = /^data:[\w.+/-]*[^,]{0,100};base64,/i.exec(text.slice(0, 200));
    const url = inline ? undefined : checkPublicUrl(text, { allowPrivate: false, ownHosts: [] });
    if (!inline && !(url instanceof URL)) return;
    const output = inline ? toOutput(text.slice(inline[0].length)) : outputAt((url as URL).href);
    const called = typeof name === "string" ? name : url instanceof URL ? url.pathname : "";
    if (output) outputs.push(Object.assign(output, { name: called.slice(-100), ...(url instanceof URL && { url: url.href }) }));
  };
  /** The value without its files; undefined if nothing else is in it. */
  const rest = (value: unknown): unknown => {
    if (typeof value === "string") {
      const stored = kept?.get(value);
      if (stored) return void outputs.push(stored);
      const url = /^(?:https?:|data:)/i.test(value) && !/\s/.test(value) ? URL.parse(value) : null;
      if (!url) return value;
      if (url.protocol === "data:" || takesTexts) toFile(value, undefined);
      return undefined;
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const left = value.map(rest).filter((item) => item !== undefined);
      return left.length === 0 && value.length > 0 ? undefined : left;
    }
    const { url, file_name: name } = value as { url?: unknown; file_name?: unknown };
    if (typeof url === "string" && /^(?:https?:|data:)/i.test(url)) {
      toFile(url, name);
      return undefined;
    }
    const left = Object.entries(value).flatMap(([key, item]) => {
      const kept = rest(item);
      return kept === undefined ? [] : [[key, kept] as const];
    });
    return left.length === 0 && Object.keys(value).length > 0 ? undefined : Object.fromEntries(left);
  };
  const left = rest(answer);
  const data = isObject(left) ? left : left == null ? {} : { output: left };
  if (outputs.length === 0 && Object.keys(data).length === 0) return ownFailure;
  return { status: "succeeded", outputs, ...(Object.keys(data).length > 0 && { data }) };
}
