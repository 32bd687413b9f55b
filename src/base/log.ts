/** Log lines, one JSON object per unit of work. They contain identifiers and counts, never prompts, keys or signatures. */

export interface LogFields {
  request?: string | undefined;
  task?: string | undefined;
  account?: string | undefined;
  model?: string | undefined;
  provider?: string;
  attempt?: number;
  outcome: string;
  ms?: number;
  [field: string]: string | number | boolean | undefined;
}

/** Writes one line. `unit` is the kind of work: `request`, `dispatch`, `poll`, `settle`, ... */
export function log(unit: string, fields: LogFields): void {
  console.log(JSON.stringify({ unit, ...fields }));
}

/** Writes one line that needs the operator's attention: an internal fault or one of a provider account. */
export function alert(unit: string, fields: LogFields, error?: unknown): void {
  console.error(JSON.stringify({ unit, ...fields, ...(error !== undefined && { error: describeError(error) }) }));
}

const describeError = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 500) : String(error).slice(0, 500);
