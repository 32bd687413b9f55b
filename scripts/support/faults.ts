/** What a thrown error, or an answer of another shape, says. */

import type * as z from "zod/mini";

/** The code of a system error (`ENOENT`, `EADDRINUSE`), or undefined. */
export const errorCode = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** What is read, or undefined if the file or the folder does not exist, or for another of these codes. */
export const ifThere = <T>(read: Promise<T>, ...codes: string[]): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (!["ENOENT", ...codes].includes(String(errorCode(error)))) throw error;
    return undefined;
  });

/** The message of an error with that of its cause, which says why `fetch` failed. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

/** The value of a JSON text; undefined if it is another text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value of this shape. Throws `<who> in another shape` with the differences, and `more` after them. */
export function readShape<T>(shape: z.ZodMiniType<T>, value: unknown, who: string, more = ""): T {
  const { data, error } = shape.safeParse(value);
  const faults = error?.issues.map((issue) => `${issue.path.join(".")} ${issue.code}`).join(", ");
  if (error) throw new Error(`${who} in another shape: ${faults}${more}`);
  return data;
}
