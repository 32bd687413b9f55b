/** The audit log of the account. */

import { auditLog } from "../../../src/api/schema/audit-log.ts";
import { adminAuditLogQuery, auditLogQuery } from "../../../src/api/schema/queries.ts";
import { answer, tagged } from "../definition.ts";
import * as example from "../examples/index.ts";

const entry = {
  object: "audit_entry",
  id: "aud_2Vb8mYtQeR5uNw1xKzL0aP",
  at: 1_795_305_600,
  act: "budget_changed",
  actor: { kind: "user", id: "u4Xq8ZkR2mTn", name: "mira@northlight.example" },
  address: "203.0.113.24",
  target: { id: "mem_5sTgB2nHkQw7ZxYc1LpR9d", name: null },
  before: { budget: 10, window: "month" },
  after: { budget: 5, window: "month" },
};

export const audit = tagged("account", {
  "GET /v1/audit_log": {
    id: "listAuditLog",
    summary: "List the audit log",
    description:
      "Who did what in the account, when and from where, newest first. For keys of owners and admins, and keys that belong to the account. Entries cannot be changed, and are kept for 400 days unless the operator chooses another time.",
    query: auditLogQuery(),
    answers: { 200: answer("A page of the log.", auditLog, { log: example.page(entry) }) },
  },
  "GET /admin/audit_log": {
    tag: "admin",
    security: "admin",
    id: "listAdminAuditLog",
    summary: "List the audit log of an account",
    description: "Newest first: the log of `account`, or without it what concerns no account: models, prices, codes and erased accounts.",
    query: adminAuditLogQuery(),
    answers: { 200: answer("A page of the log.", auditLog, { log: example.page(entry) }) },
  },
});
