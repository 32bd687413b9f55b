/** Classifies a thrown system error. */

/** The code of a system error (`ENOENT`, `EADDRINUSE`), or undefined. */
export const errorCode = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
