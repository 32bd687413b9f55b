/** Rare events in D1 that cause alerts: the time of the latest event of each kind and id. Not related to money. */

import { alert } from "../log.ts";

/** A message in the dead-letter queue (id: its task), a provider's account that failed (provider), callbacks that keep failing (account). */
export type IncidentKind = "dead_letter" | "provider" | "callback";

/** Records an event. Never throws: the work that caused it continues without the record. */
export async function recordIncident(db: D1Database, kind: IncidentKind, id: string): Promise<void> {
  try {
    await db
      .prepare("INSERT INTO incident (kind, id, at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET at = excluded.at")
      .bind(kind, id, Date.now())
      .run();
  } catch (error) {
    alert("incident", { outcome: "not_recorded", kind }, error);
  }
}

/** The ids of events of a kind since `since` (milliseconds), the newest first, at most `limit`. A kind has few rows: old ones are deleted. */
export const incidentsSince = async (db: D1Database, kind: IncidentKind, since: number, limit: number): Promise<string[]> =>
  (
    await db
      .prepare("SELECT id FROM incident WHERE kind = ?1 AND at > ?2 ORDER BY at DESC LIMIT ?3")
      .bind(kind, since, limit)
      .run<{ id: string }>()
  ).results.map(({ id }) => id);

/** Deletes events before `before` (milliseconds). */
export const deleteIncidents = async (db: D1Database, before: number): Promise<void> => {
  await db.prepare("DELETE FROM incident WHERE at < ?1").bind(before).run();
};
