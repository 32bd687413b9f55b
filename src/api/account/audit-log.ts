/** `/v1/audit_log` and `/admin/audit_log`: who did what in the account, newest first. For keys of owners and admins. */

import { toSeconds } from "../../base/times.ts";
import type * as z from "zod/mini";
import type { AppContext } from "../request/context.ts";
import { type AuditPlace, type AuditRow, findAuditPlace, listAuditLog } from "../../db/audit-log.ts";
import { answer } from "../request/answer.ts";
import { readQuery, requireRow, toList } from "../request/query.ts";
import { adminAuditLogQuery, auditLogQuery } from "../schema/queries.ts";

const view = ({ id, at, act, actor, actorId, actorName, address, target, targetName, before, after }: AuditRow) => ({
  object: "audit_entry",
  id,
  at: toSeconds(at),
  act,
  actor: { kind: actor, id: actorId, name: actorName },
  address,
  target: target === null ? null : { id: target, name: targetName },
  before,
  after,
});

export const listAudit = (c: AppContext): Promise<Response> => answerPage(c, c.get("caller").accountId, readQuery(c, auditLogQuery));

/** `/admin/audit_log`: the same for the operator, of any account, or without one of what concerns none: models, prices, codes. */
export function listAdminAudit(c: AppContext): Promise<Response> {
  const { account = "", ...query } = readQuery(c, adminAuditLogQuery);
  return answerPage(c, account, query);
}

type Query = z.infer<ReturnType<typeof auditLogQuery>>;

async function answerPage(c: AppContext, accountId: string, { limit, after, act, actor, since, until }: Query): Promise<Response> {
  let place: AuditPlace | undefined;
  await requireRow(after, async (id) => (place = await findAuditPlace(c.env.DB, accountId, id)));
  const filter = {
    acts: act === undefined ? undefined : [act],
    actor,
    since: since === undefined ? undefined : 1000 * since,
    until: until === undefined ? undefined : 1000 * until,
  };
  const rows = await listAuditLog(c.env.DB, accountId, filter, { limit: limit + 1, after: place });
  return answer(c, toList(rows.slice(0, limit).map(view), rows.length > limit));
}
