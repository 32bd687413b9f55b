/** Reads a multipart form with one file while it arrives: the file's bytes as pieces, and the other fields as texts. */

import { decodeField, make, type MultipartError } from "multipasta";
import { invalid } from "../../base/errors.ts";

/** The other fields of the form and the file's name; complete once the pieces have been read to their end. */
export interface FormFields {
  fields: Record<string, string>;
  fileName: string | undefined;
}

const maxFieldBytes = 1024;
const maxParts = 32;

/**
 * The bytes of the part `file` in pieces. The whole form is read: fields may follow the file. Throws 400 for a body that is not a form,
 * ends early, or has no file or several.
 *
 * @param contentType the request's header, which has the boundary.
 * @param read returns the next bytes, which are valid until the next call; undefined at the end.
 */
export async function* readForm(
  contentType: string,
  read: () => Promise<Uint8Array | undefined>,
  found: FormFields,
): AsyncGenerator<Uint8Array, void> {
  let waiting: Uint8Array[] = [];
  const state = { files: 0, isDone: false };
  let error: MultipartError | undefined;
  const parser = make({
    headers: { "content-type": contentType },
    isFile(info) {
      // The parser (0.2.8) gives up a header with a letter beyond Latin-1, as the names of many files have.
      if (info.contentDisposition === "") Object.assign(info, readNames(String(info.headers["content-disposition"])));
      return info.name === "file" || info.filename !== undefined;
    },
    maxParts,
    maxFieldSize: maxFieldBytes,
    onField: (info, value) => (found.fields[info.name] = decodeField(info, value)),
    onFile: ({ name, filename }) => {
      if (name !== "file") return () => undefined; // an unknown field
      state.files++;
      found.fileName = filename;
      return (chunk) => {
        if (chunk) waiting.push(chunk);
      };
    },
    onError: (fault) => (error ??= fault),
    onDone: () => (state.isDone = true),
  });
  const write = (piece: Uint8Array) => {
    try {
      parser.write(piece);
    } catch (cause) {
      throw badForm(cause); // an encoded file name that cannot be decoded
    }
    if (error) throw badForm(error);
    if (state.files > 1) throw invalid("file", "too_big_list", { maximum: 1 }, { maximum: 1 });
  };
  for (let piece = await read(); piece && !state.isDone; piece = await read()) {
    // A copy: the parser keeps parts of it, and the reader uses the bytes again.
    write(piece.slice());
    const chunks = waiting;
    waiting = [];
    yield* chunks;
  }
  if (!state.isDone) throw badForm();
  if (state.files === 0) throw invalid("file", "required");
}

/** The names of a field and of its file in a part's `Content-Disposition`. */
const readNames = (header: string) => {
  const all = header.matchAll(/;\s*(\w+)=(?:"((?:\\.|[^"\\])*)"|([^\s;]+))/g);
  const { name, filename } = Object.fromEntries(Array.from(all, ([, key, quoted, word]) => [key, quoted ?? word]));
  return { name, filename };
};

const badForm = (cause?: unknown) => Object.assign(invalid("file", "bad_form"), { cause });
