/**
 * Secrets after `npm run deploy -- --rotate NAME`. The platform shows no value of a secret, so a rotation cannot move the present one to
 * `NAME_OLD`: it adds the new one as `NAME_V<Unix seconds>`, and the names show which value is the newest and since when.
 */

import { assetSeconds } from "./life-times.ts";

/** The name of a rotated secret: the secret, and the time of the rotation. */
export const rotatedName = /^([A-Z][A-Z0-9_]*)_V(\d{10})$/;

const hourMs = 3_600_000;
/** Seconds for which a replaced value stays valid: as long as URLs of assets live, and a week for receivers of alerts. Other secrets: without end. */
const keptSeconds: Record<string, number> = { ASSET_SIGNING_SECRET: assetSeconds + 3_600, ALERT_SIGNING_SECRET: 7 * 86_400 };
/** Secrets whose replaced values, listed in `NAME_REPLACED`, still open what release 0.2.0 sealed with them, after they have become invalid. */
const keepsReplaced = new Set(["ASSET_SIGNING_SECRET"]);
/** Secrets of which every replaced value counts, separated by spaces: for the others it is the one before. */
const countsAll = new Set(["ASSET_SIGNING_SECRET", "SEALING_KEY", "RECEIPT_SIGNING_KEY"]);

const prepared = new WeakMap<object, { at: number; env: object }>();

/** The environment in which `NAME` is the newest value and `NAME_OLD` the replaced ones that are still valid. Unchanged without rotated secrets. */
export function withRotatedSecrets<E extends object>(env: E): E {
  const now = Date.now();
  const known = prepared.get(env);
  if (known && now >= known.at && now - known.at < hourMs) return known.env as E;
  const found = rotate(env as Record<string, unknown>, now / 1000) as E;
  prepared.set(env, { at: now, env: found });
  return found;
}

function rotate(env: Record<string, unknown>, now: number): Record<string, unknown> {
  const versions = new Map<string, { since: number; value: string }[]>();
  for (const [key, value] of Object.entries(env)) {
    const [, name, since] = rotatedName.exec(key) ?? [];
    if (name === undefined || typeof value !== "string") continue;
    const first = typeof env[name] === "string" && env[name] !== "" ? [{ since: 0, value: env[name] }] : [];
    versions.set(name, [...(versions.get(name) ?? first), { since: Number(since), value }]);
  }
  if (versions.size === 0) return env;
  const changed = { ...env };
  for (const [name, list] of versions) {
    list.sort((a, b) => a.since - b.since);
    const replaced = list.slice(0, -1).filter((_, at) => now < list[at + 1]!.since + (keptSeconds[name] ?? Infinity));
    if (keepsReplaced.has(name)) {
      const all = list.slice(0, -1).map(({ value }) => value);
      changed[`${name}_REPLACED`] = all.reverse().join(" ");
    }
    const old = replaced.map(({ value }) => value).reverse();
    const given = env[`${name}_OLD`];
    if (typeof given === "string" && given !== "") old.push(given);
    changed[name] = list.at(-1)!.value;
    changed[`${name}_OLD`] = countsAll.has(name) ? old.join(" ") : old[0];
  }
  return changed;
}
