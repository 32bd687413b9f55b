/** The ledger's rows of chats: the audit's sums cannot distinguish single chats. Read with wrangler. */

import * as z from "zod/mini";
import { startWrangler } from "../support/wrangler.ts";

// One string per group, so that the output is short however long the run was.
const question = `SELECT
  (SELECT group_concat(task_id) FROM entry r WHERE step = 'reserve' AND NOT EXISTS (SELECT 1 FROM entry c WHERE c.task_id = r.task_id AND c.step = 'close')) AS held,
  (SELECT group_concat(task_id) FROM entry WHERE step = 'close' AND kind = 'chat' AND charged = 0) AS free`;
const shape = z.array(z.object({ results: z.array(z.object({ held: z.nullable(z.string()), free: z.nullable(z.string()) })) }));

/** Ids of rows that are still held, and of chats that were settled without a charge. */
export interface ChatRows {
  held: string[];
  free: string[];
}

/** Reads the ledger of a gateway that has ended. */
export async function readChatRows(stateDir: string): Promise<ChatRows> {
  const place = ["--local", "--persist-to", stateDir, "-c", "wrangler.toml"];
  const wrangler = startWrangler(["d1", "execute", "DB", ...place, "--json", "--command", question], stateDir, process.env);
  const code = await wrangler.exited;
  const output = wrangler.output();
  if (code !== 0) throw new Error(`the ledger could not be read:\n${output}`);
  const row = shape
    .parse(JSON.parse(output.slice(output.indexOf("["), output.lastIndexOf("]") + 1)))
    .at(0)
    ?.results.at(0);
  return { held: readIds(row?.held), free: readIds(row?.free) };
}

const readIds = (text: string | null | undefined) => text?.split(",") ?? [];

/** Chats that were answered, or interrupted while the gateway kept running, but are not charged; and holds that belong to no chat. */
export function rowFaults({ held, free }: ChatRows, charged: ReadonlySet<string>): string[] {
  return [
    ...held.filter((id) => charged.has(id)).map((id) => `${id} was answered and is still held`),
    ...held.filter((id) => !id.startsWith("chatcmpl-")).map((id) => `${id} is still held`),
    ...free.filter((id) => charged.has(id)).map((id) => `${id} was answered and not charged`),
  ];
}
