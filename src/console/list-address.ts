/** Addresses of lists: their filters, and the place where a page begins. */

import type { ConsoleContext } from "./context.ts";

/** The path with these values as its query; those that are undefined are left out. */
export function withQuery(path: string, values: Record<string, string | undefined>): string {
  const query = new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The entry after which a page of a list by time begins. */
export interface ListPlace {
  at: number;
  id: string;
}

export const placeText = ({ at, id }: ListPlace) => `${at}_${id}`;

/** The place that the address names; undefined for the beginning. */
export function readPlace(c: ConsoleContext): ListPlace | undefined {
  const [, at, id] = /^(\d{1,15})_([\w-]{1,100})$/.exec(c.req.query("after") ?? "") ?? [];
  return at && id ? { at: Number(at), id } : undefined;
}

/** The rows of a page, of which one more was read: `last` is undefined if there are no further ones. */
export function firstRows<T>(read: T[], size: number): { rows: T[]; last: T | undefined } {
  const rows = read.slice(0, size);
  return { rows, last: read.length > size ? rows.at(-1) : undefined };
}
