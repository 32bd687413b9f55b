/** The names of alerts, which the operations Worker begins and the console explains; each has a page in docs/operations.md. */

export const alertNames = [
  "tasks_past_deadline",
  "holds_without_record",
  "dead_letters",
  "ledger_drift",
  "database_size",
  "archive_damaged",
  "provider_unhealthy",
  "provider_failing",
  "model_unavailable",
  "model_gone",
  "model_refused",
  "route_retiring",
  "completion_low",
  "queue_behind",
  "route_loses_money",
  "callbacks_failing",
  "accounts_restored",
  "certificate_ending",
  "setting_wrong",
] as const;
export type AlertName = (typeof alertNames)[number];
