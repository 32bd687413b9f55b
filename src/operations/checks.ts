/** The checks that run every five minutes: each alert's stable name, and how its causes are found. */

import { databaseBytes } from "../db/archive.ts";
import { audit } from "../db/audit.ts";
import { incidentsSince } from "../db/incidents.ts";
import { checkArchive } from "./archive-check.ts";
import type { Objects } from "./objects.ts";
import { checkOpenTasks } from "./open-tasks.ts";
import { databaseMaxMB, wrongSettings } from "./settings.ts";

/** The share of the database's maximum size at which its alert begins. */
const databaseShare = 0.7;
/** Slices of the audit in one run: at most about 12,000 rows. */
const auditSlices = 20;
const maxCauses = 10;

const minuteMs = 60_000;
/** How long an alert lasts after its latest event. Attempts of a failing callback are up to an hour apart. */
const windowsMs = { dead_letter: 30 * minuteMs, provider: 10 * minuteMs, callback: 70 * minuteMs };

/** The names of alerts; each has a page in docs/operations.md. */
export const alertNames = [
  "tasks_past_deadline",
  "holds_without_record",
  "dead_letters",
  "ledger_drift",
  "database_size",
  "archive_damaged",
  "provider_unhealthy",
  "callbacks_failing",
  "setting_wrong",
] as const;
export type AlertName = (typeof alertNames)[number];

type Found = Partial<Record<AlertName, string[]>>;

/** The checks. Each returns the causes of its alerts, an empty list if there is no problem, and throws if it cannot be evaluated. */
export const checks: ((env: OperationsBindings, objects: Objects, now: number) => Promise<Found>)[] = [
  async ({ DB }, objects, now) => {
    const found = await checkOpenTasks(DB, objects, now);
    const of = (state: "late" | "gone") => found.filter((one) => one.state === state).map(({ taskId }) => taskId);
    return { tasks_past_deadline: of("late"), holds_without_record: of("gone") };
  },
  async ({ DB }, objects) => {
    const { drift } = await audit(DB, (accountId) => objects.auditWallet(accountId), undefined, auditSlices);
    return { ledger_drift: drift.map(({ id }) => id) };
  },
  async (env) => ({ archive_damaged: await checkArchive(env) }),
  async (env) => {
    const maxMB = databaseMaxMB(env);
    const isLarge = (await databaseBytes(env.DB)) > databaseShare * maxMB * 1e6;
    return { database_size: isLarge ? [`over ${100 * databaseShare} % of ${maxMB} MB`] : [] };
  },
  async ({ DB }, _, now) => {
    const of = (kind: keyof typeof windowsMs) => incidentsSince(DB, kind, now - windowsMs[kind], maxCauses);
    return { dead_letters: await of("dead_letter"), provider_unhealthy: await of("provider"), callbacks_failing: await of("callback") };
  },
  async (env) => ({ setting_wrong: wrongSettings(env) }),
];
