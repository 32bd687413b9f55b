/** The checks that run every five minutes: each alert's stable name, and how its causes are found. */

import { toDate } from "../base/times.ts";
import type { AlertName } from "../base/alert-names.ts";
import { databaseBytes } from "../db/archive.ts";
import { audit } from "../db/audit.ts";
import { badCallsSince } from "../db/recent-sums.ts";
import { readLosses } from "../db/operator-series.ts";
import { countOutcomes } from "../db/settled-sums.ts";
import { incidentsSince } from "../db/alerts.ts";
import { checkArchive } from "./archive-check.ts";
import type { Objects } from "../rpc/objects.ts";
import { checkOpenTasks } from "./open-tasks.ts";
import { readListed, retirementCauses } from "./retirements.ts";
import { databaseMaxMB, wrongSettings } from "./settings.ts";

/** The share of the database's maximum size at which its alert begins. */
const databaseShare = 0.7;
/** Slices of the audit in one run: at most about 12,000 rows. */
const auditSlices = 20;
const maxCauses = 10;

const minuteMs = 60_000;
/** How long an alert lasts after its latest event. Attempts of a failing callback are up to an hour apart. */
const windowsMs = { dead_letter: 30 * minuteMs, provider: 10 * minuteMs, callback: 70 * minuteMs, model: 60 * minuteMs };
/** A route fails if it has this many faults and no usable answer in this time. */
const routeFails = { withinMs: 15 * minuteMs, faults: 5 };
/** A queue is behind if at least this many of its messages, and more than half of them, came too late in this time. */
const queueIsBehind = { withinMs: 15 * minuteMs, late: 20 };
/** A kind fails if this many tasks ended in one of these times, and no more than this share of them completed. */
const kindFails = { withinMs: [15 * minuteMs, 60 * minuteMs], ended: 10, share: 0.2 };

/** A route loses money if its attempts in this time cost more than callers paid for them: this many attempts, or this much more (millionths). */
const routeLoses = { withinMs: 24 * 60 * minuteMs, calls: 10, loss: 1_000_000 };

/** The certificate that signs files, as the gateway read it: when it ends (milliseconds) or what is wrong with it; undefined if it could not be read. */
type Certificate = { ends: number } | { refused: string } | "unused" | undefined;

/** What the gateway's Worker says of itself. */
export interface GatewayState {
  certificate?: Certificate;
  /** A message for each of its variables that is wrong. */
  wrongVariables?: string[];
}

const certificateNoticeMs = 30 * 24 * 60 * minuteMs;

/** Files would be stored unsigned without a certificate that is valid. */
function checkCertificate(certificate: Certificate, now: number): Found {
  if (certificate === undefined) return {};
  if (certificate === "unused") return { certificate_ending: [] };
  if ("refused" in certificate) return { certificate_ending: [certificate.refused] };
  const isNear = certificate.ends - now <= certificateNoticeMs;
  return { certificate_ending: isNear ? [`C2PA_CERTIFICATES ends on ${toDate(certificate.ends)}`] : [] };
}

type Found = Partial<Record<AlertName, string[]>>;

/** The checks. Each returns the causes of its alerts, an empty list if there is no problem, and throws if it cannot be evaluated. */
export const checks: ((env: OperationsBindings, objects: Objects, now: number, gateway: GatewayState) => Promise<Found>)[] = [
  async ({ DB }, objects, now) => {
    const found = await checkOpenTasks(DB, objects, now);
    const of = (state: "late" | "gone") => found.filter((one) => one.state === state).map(({ taskId }) => taskId);
    return { tasks_past_deadline: of("late"), holds_without_record: of("gone") };
  },
  async ({ DB }, objects) => {
    const { drift } = await audit(DB, objects, undefined, auditSlices);
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
    return {
      dead_letters: await of("dead_letter"),
      provider_unhealthy: await of("provider"),
      model_unavailable: await of("model"),
      callbacks_failing: await of("callback"),
      accounts_restored: await incidentsSince(DB, "restored", 0, maxCauses),
    };
  },
  async ({ DB }, _, now) => {
    const calls = await badCallsSince(DB, now - routeFails.withinMs, routeFails.faults);
    const failing = calls.filter(({ name, good }) => name.startsWith("route ") && good === 0);
    return { provider_failing: failing.map(({ name }) => name.slice("route ".length)).sort() };
  },
  async ({ DB }, _, now) => {
    const calls = await badCallsSince(DB, now - queueIsBehind.withinMs, queueIsBehind.late);
    const late = calls.filter(({ name, good, bad }) => name.startsWith("queue ") && bad > good);
    return { queue_behind: late.map(({ name }) => name.slice("queue ".length)).sort() };
  },
  async ({ DB }, _, now) => {
    const kinds = new Set<string>();
    for (const withinMs of kindFails.withinMs)
      for (const { kind, ended, completed } of await countOutcomes(DB, now - withinMs))
        if (ended >= kindFails.ended && completed <= kindFails.share * ended) kinds.add(kind);
    return { completion_low: [...kinds].sort() };
  },
  async ({ DB }, _, now) => {
    const losses = await readLosses(DB, now - routeLoses.withinMs, now, routeLoses);
    return { route_loses_money: losses.map(({ route }) => route || "unknown route") };
  },
  async (env, objects, now) => retirementCauses(await readListed(env, objects, now), now),
  async (_env, objects) => ({
    model_refused: Object.entries(await objects.refusedModels()).map(([model, fields]) => `${model} ${fields[0] ?? ""}`),
  }),
  async (_env, _objects, now, { certificate }) => checkCertificate(certificate, now),
  async (env, _objects, _now, { wrongVariables = [] }) => ({ setting_wrong: [...wrongSettings(env), ...wrongVariables] }),
];
