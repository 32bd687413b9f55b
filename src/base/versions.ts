/**
 * The versions of what Workers, queues and objects pass to each other. For minutes after a deployment, and after a rollback, code reads what
 * newer code wrote: it ignores unknown fields and puts off a newer version.
 *
 * Raise one only if code that ignores a new field would do harm; a new field or argument is optional and needs no new version.
 */

/** The version of messages about tasks and budget alerts. */
export const messageVersion = 1;
/** The version of messages with a settlement. Code of a release that does not know such messages would drop them; it postpones a message of this version. */
export const settlementVersion = 2;
/** The version of submissions, which task objects accept. */
export const submissionVersion = 1;
/** The version of charges, which wallet objects hold and settle. */
export const chargeVersion = 1;

/** The version of a value; one without is read as an older one. */
export interface Versioned {
  v?: number;
}

/** True if newer code wrote the value, so that code of this version may misread it. */
export const isNewer = ({ v = 0 }: Versioned, version: number) => v > version;

/** Throws if newer code made the value: the caller repeats the call, and by then this object runs newer code. */
export function requireKnown(value: Versioned, version: number): void {
  if (isNewer(value, version)) throw new Error("made by newer code");
}
