/** Times: milliseconds in the code, whole seconds since 1970 in the API, and days of UTC. */

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** The day of a time: `2026-11-28`. */
export const toDate = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The first millisecond of a day, or NaN if the text is not a day: the runtime reads `2030` and `2030-02-30` as days too. */
export function parseDate(date: string): number {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(ms) || toDate(ms) !== date ? Number.NaN : ms;
}

/** The seconds of a time in milliseconds; null stays null. */
export function toSeconds(ms: number): number;
export function toSeconds(ms: number | null): number | null;
export function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
