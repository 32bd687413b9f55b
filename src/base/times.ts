/** Times as the API gives them: whole seconds since 1970. */

/** The seconds of a time in milliseconds; null stays null. */
export function toSeconds(ms: number): number;
export function toSeconds(ms: number | null): number | null;
export function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
