/** Reads the emulator's records for the tests of the fal queue. */

import { asked, sent } from "../support.ts";

/** The submission as the queue received it. */
export const toSubmission = async (prompt: string) =>
  (await sent(prompt))[0] as {
    endpoint: string;
    input: Record<string, unknown>;
    lifecycle: unknown;
  };

/** The bytes of the files that the queue reported as its output. */
export async function readFiles(prompt: string): Promise<Uint8Array[]> {
  const result = (await asked(prompt)).find(({ call }) => call === "made")!.body as { images?: { url: string }[]; video?: { url: string } };
  const files = result.images ?? [result.video!];
  return Promise.all(files.map(async ({ url }) => new Uint8Array(await (await fetch(url)).arrayBuffer())));
}
