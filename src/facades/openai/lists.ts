/** Lists: pages of the gateway's, and OpenAI's answers. */

import type { AppContext } from "./context.ts";
import type { Page } from "../client.ts";

/** A page of the list at a path of the gateway. */
export function readPage<Row>(c: AppContext, path: string, { after, ...query }: Record<string, string | undefined>): Promise<Page<Row>> {
  const parameters = new URLSearchParams({ ...query, ...(after !== undefined && { after }) });
  return c.var.gateway.read<Page<Row>>(`${path}?${parameters.toString()}`);
}

/** Answers with a page: first and last id are those of the rows `data`, of which the answer contains only `shown`. */
export const answerList = <Row extends { id: string }>(c: AppContext, { has_more, next_after }: Page<unknown>, data: Row[], shown = data) =>
  c.json({ object: "list", data: shown, has_more, first_id: data[0]?.id ?? null, last_id: next_after ?? data.at(-1)?.id ?? null });
