/** `/admin/codes`: prepaid codes, made in series, listed and revoked by the operator. */

import { findCode, insertCodes, listCodes as readCodes, type Code } from "../db/codes.ts";
import { toUnits } from "../db/ledger.ts";
import { ApiError } from "../base/errors.ts";
import { revokeCodes } from "../wallet/codes.ts";
import { operator } from "./request/actor.ts";
import { answer, respond } from "./request/answer.ts";
import { readFields, readNoBody } from "./request/body.ts";
import type { AppContext } from "./request/context.ts";
import { readQuery, requireRow, toList } from "./request/query.ts";
import { newCodes } from "./schema/bodies.ts";
import { codesQuery } from "./schema/queries.ts";
import { toSeconds } from "../base/times.ts";

function state({ redeemedAt, revokedAt, expiresAt }: Code): string {
  if (redeemedAt !== null) return "redeemed";
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= Date.now() ? "expired" : "open";
}

const view = (code: Code) => ({
  object: "code",
  id: code.id,
  series: code.series,
  amount: toUnits(code.amount),
  note: code.note,
  state: state(code),
  created_at: toSeconds(code.createdAt),
  expires_at: toSeconds(code.expiresAt),
  redeemed_by: code.redeemedBy,
  redeemed_at: toSeconds(code.redeemedAt),
});

export async function createCodes(c: AppContext): Promise<Response> {
  const { count, amount, note = null, expires_at } = await readFields(c, newCodes);
  const expiresAt = expires_at === undefined ? null : 1000 * expires_at;
  const { series, createdAt, codes } = await insertCodes(c.env.DB, { count, amount, note, expiresAt }, operator(c));
  const given = { amount: toUnits(amount), note, created_at: toSeconds(createdAt), expires_at: toSeconds(expiresAt) };
  return answer(c, { object: "code_series", id: series, ...given, codes }, 201);
}

export async function listCodes(c: AppContext): Promise<Response> {
  const { limit, ...page } = readQuery(c, codesQuery);
  await requireRow(page.after, (id) => findCode(c.env.DB, id));
  const found = await readCodes(c.env.DB, { ...page, limit: limit + 1 });
  return answer(c, toList(found.slice(0, limit).map(view), found.length > limit));
}

/** Revokes a code, or every code of a series that was not redeemed. */
export async function revokeCode(c: AppContext, id: string): Promise<Response> {
  await readNoBody(c);
  const one = await findCode(c.env.DB, id);
  const codes = one ? [one] : await readCodes(c.env.DB, { series: id, limit: maxSeries });
  if (codes.length === 0) throw new ApiError("not_found");
  const revoked = await revokeCodes(c.env, codes, operator(c));
  if (one && revoked === 0) throw new ApiError("code_redeemed");
  return respond(c, null, 204);
}

/** The number of codes that one request makes at most. */
const maxSeries = 500;
