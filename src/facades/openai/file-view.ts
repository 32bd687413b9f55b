/** A file in OpenAI's format. */

/** A file as the gateway describes it on these paths. */
export interface StoredFile {
  id: string;
  type: string;
  bytes: number;
  created_at: number;
  expires_at: number;
  filename?: string | null;
}

/** OpenAI has a file of its own for the failed lines of a batch: here it is the file of the results with this ending of its id. */
export const errorsEnding = ".errors";

/** The gateway's id of a file, and the ending of this one. */
export const splitId = (id: string): { id: string; ending: string } =>
  id.endsWith(errorsEnding) ? { id: id.slice(0, -errorsEnding.length), ending: errorsEnding } : { id, ending: "" };

/** The batch that wrote a file with this name; undefined for the caller's own files. */
export const batchOf = (name: string | null | undefined): string | undefined => /^(batch_[\w-]{43})\.jsonl$/.exec(name ?? "")?.[1];

/** The gateway stores no purpose: it follows from the bytes. */
function toPurpose({ type, filename }: StoredFile): string {
  if (type === "application/jsonl") return batchOf(filename) === undefined ? "batch" : "batch_output";
  return type.startsWith("image/") ? "vision" : "user_data";
}

/** OpenAI's `file` object. */
export const toFile = (file: StoredFile) => ({
  id: file.id,
  object: "file",
  bytes: file.bytes,
  created_at: file.created_at,
  expires_at: file.expires_at,
  filename: file.filename ?? file.id,
  purpose: toPurpose(file),
  status: "processed",
  status_details: null,
});
