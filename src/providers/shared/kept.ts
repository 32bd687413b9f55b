/**
 * Answers that contain files as Base64: the files are stored while the answer is read, so that a task has at most one of them in memory.
 */

import { JsonBodyError } from "../../media/json-error.ts";
import { readJsonFiles } from "../../media/json-files.ts";
import type { JsonPath } from "../../media/json-scanner.ts";
import { type Job, type Output, ProviderError } from "../provider.ts";

const limits = { maxBytes: 768 * 1024 * 1024, maxRest: 4 * 1024 * 1024, maxDepth: 64 };
/** Length of a Base64 chunk: a multiple of four, so that each chunk can be decoded separately. */
const pieceCharacters = 64 * 1024;

export interface KeptAnswer<T> {
  /** The parsed answer, with a placeholder for `outputOf` instead of each file; undefined if it is not JSON, or broke off after a file. */
  value: T | undefined;
  /** The stored files in order. */
  kept: Output[];
  /** Opens the file that a placeholder in `value` stands for. */
  outputOf: (text: string) => Promise<Output>;
}

/** Reads an answer to its end and stores its files. Throws a retryable fault if the answer breaks off within a file, and what `keep` throws. */
export async function readKept<T>(response: Response, keep: Job["keep"], isFileAt: (path: JsonPath) => boolean): Promise<KeptAnswer<T>> {
  const files = new Map<string, Output>();
  const told = (value: T | undefined): KeptAnswer<T> => ({
    value,
    kept: [...files.values()],
    outputOf: async (text) => files.get(text) ?? keep(decodeBase64(text)),
  });
  if (!response.body) return told(undefined);
  try {
    return told((await readJsonFiles(response.body, { ...limits, isFileAt, take: keep, files })) as T);
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause;
    if (cause.reason === "not_json" || files.size > 0) return told(undefined);
    throw new ProviderError("unreachable", `the answer: ${cause.reason}`, { cause });
  }
}

/** The bytes of a Base64 text in memory, or of a data URI, one piece at a time. */
export async function* decodeBase64(text: string): AsyncGenerator<Uint8Array, void> {
  const start = text.startsWith("data:") ? text.indexOf(",") + 1 : 0;
  for (let at = start; at < text.length; at += pieceCharacters) yield Uint8Array.fromBase64(text.slice(at, at + pieceCharacters));
}
