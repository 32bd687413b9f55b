/** Alerts in D1, one row for each stable name with its latest start; and incidents, the rare events that cause some of them. */

import { alert } from "../base/log.ts";
import { execute, queryIds, queryRows } from "./query.ts";

export interface Alert {
  name: string;
  /** Milliseconds */
  beganAt: number;
  /** null while the cause lasts */
  endedAt: number | null;
  /** Some of the ids that the alert is about. */
  causes: string[];
  /** The last change that was reported to the receivers. */
  told: "began" | "ended" | null;
  /** The receivers that have accepted the next change already, while others have not. */
  acceptedBy?: string[];
}

/** All alerts that have ever started, by name. */
export async function listAlerts(db: D1Database): Promise<Alert[]> {
  const rows = await queryRows<Omit<Alert, "causes" | "acceptedBy"> & { causes: string; acceptedBy: string }>(
    db,
    "SELECT name, began_at AS beganAt, ended_at AS endedAt, causes, told, accepted_by AS acceptedBy FROM alert ORDER BY name",
  );
  return rows.map((row) => ({
    ...row,
    causes: JSON.parse(row.causes) as string[],
    acceptedBy: JSON.parse(row.acceptedBy) as string[],
  }));
}

export const writeAlert = (db: D1Database, { name, beganAt, endedAt, causes, told, acceptedBy = [] }: Alert): Promise<void> =>
  execute(
    db,
    `INSERT INTO alert (name, began_at, ended_at, causes, told, accepted_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT DO UPDATE SET began_at = excluded.began_at, ended_at = excluded.ended_at, causes = excluded.causes, told = excluded.told,
        accepted_by = excluded.accepted_by`,
    [name, beganAt, endedAt, JSON.stringify(causes), told, JSON.stringify(acceptedBy)],
  );

/** The kinds of events, each with its id: a message in the dead-letter queue (the task), a failed provider account (the provider, and which of its accounts if it has several), failing callbacks (the account), a model that the maker does not have (provider and model), an account that lost changes to a restored database (until the operator has decided). */
export type IncidentKind = "dead_letter" | "provider" | "callback" | "model" | "restored";

/** Records an event. Never throws: the work that caused it continues without the record. */
export async function recordIncident(db: D1Database, kind: IncidentKind, id: string): Promise<void> {
  try {
    await execute(db, "INSERT INTO incident (kind, id, at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET at = excluded.at", [
      kind,
      id,
      Date.now(),
    ]);
  } catch (error) {
    alert("incident", { outcome: "not_recorded", kind }, error);
  }
}

/** The ids of events of a kind since `since` (milliseconds), the newest first, at most `limit`. A kind has few rows: old ones are deleted. */
export const incidentsSince = (db: D1Database, kind: IncidentKind, since: number, limit: number): Promise<string[]> =>
  queryIds(db, "SELECT id FROM incident WHERE kind = ?1 AND at > ?2 ORDER BY at DESC LIMIT ?3", [kind, since, limit]);

/** Deletes events before `before` (milliseconds), but those that wait for a decision. */
export const deleteIncidents = (db: D1Database, before: number): Promise<void> =>
  execute(db, "DELETE FROM incident WHERE at < ?1 AND kind <> 'restored'", [before]);

/** Deletes an event that is over. */
export const endIncident = (db: D1Database, kind: IncidentKind, id: string): Promise<void> =>
  execute(db, "DELETE FROM incident WHERE kind = ?1 AND id = ?2", [kind, id]);
