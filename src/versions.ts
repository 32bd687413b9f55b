/**
 * The versions of what Workers, queues and objects pass to each other. For minutes after a deployment, and after a rollback, code reads what
 * newer code wrote: it ignores unknown fields and puts off a newer version.
 */

/** Raise one only if code that ignores a new field would do harm; a new field or argument is optional and needs no new version. 0: without a version. */
export const versions = {
  /** Of messages in the queues. */
  message: 1,
  /** Of submissions, which task objects accept. */
  submission: 1,
  /** Of charges, which wallet objects hold and settle. */
  charge: 1,
};

/** The version of a value; missing in values from before there were versions. */
export interface Versioned {
  v?: number;
}

/** True if newer code wrote the value, so that this code may misread it. */
export const isNewer = (kind: keyof typeof versions, { v = 0 }: Versioned) => v > versions[kind];
