/** Validates the operator's variables when they are read: a wrong value is an error that names the variable, never a default. */

/** A variable has a wrong value. Requests that depend on it answer 500; the message goes to the log and does not contain the value. */
export class VariableError extends Error {
  override readonly name = "VariableError";

  constructor(variable: string, rule: string) {
    super(`the variable ${variable} ${rule}`);
  }
}

/** The message of each of these readers that throws: a variable and its allowed values, never the value. */
export const listWrong = <E>(readers: readonly ((env: E) => unknown)[], env: E): string[] =>
  readers.flatMap((read) => {
    try {
      read(env);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });

/** One of these words; `fallback` if the variable is absent or empty. Throws `VariableError`. */
export function readWord<const T extends string>(variable: string, text: string | undefined, allowed: readonly T[], fallback?: T): T {
  if (!text && fallback !== undefined) return fallback;
  const found = allowed.find((word) => word === text);
  if (found === undefined) throw new VariableError(variable, `must be one of ${allowed.join(", ")}`);
  return found;
}

/** A whole number from 0 to 999,999,999, where 0 switches something off; `fallback` if the variable is absent or empty. Throws `VariableError`. */
export function readNumberOrOff(variable: string, text: string | undefined, fallback: number): number {
  if (text !== undefined && text !== "" && !/^(0|[1-9]\d{0,8})$/.test(text))
    throw new VariableError(variable, "must be a whole number from 0 to 999999999");
  return text ? Number(text) : fallback;
}

/** A whole number from 1 to 999,999,999; `fallback` if the variable is absent or empty. Throws `VariableError`. */
export function readNumber(variable: string, text: string | undefined, fallback?: number): number {
  if (!text && fallback !== undefined) return fallback;
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) throw new VariableError(variable, "must be a whole number from 1 to 999999999");
  return Number(text);
}

/** An amount of balance units, in millionths. An absent or empty variable is an error too, because it could mean zero or no limit. Throws `VariableError`. */
export function readAmount(variable: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,10}(\.\d{1,6})?$/.test(text) || Number(text) > 1e9)
    throw new VariableError(variable, "must be a number from 0 to 1000000000 with at most six decimals");
  return Math.round(Number(text) * 1e6);
}

/** An http(s) address without a slash at its end, credentials, query or fragment; undefined when absent or empty. Throws `VariableError`. */
export function readBaseUrl(variable: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  const url = URL.parse(text);
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#\s]/.test(text) && !text.endsWith("/");
  if (!isPlain) throw new VariableError(variable, "must be an http(s) address without a slash at its end");
  return text;
}

/** A table of variables: parsed in wrangler.toml, text in an environment file; undefined if it is empty. */
export function readTable(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (value.trim() === "") return undefined;
  try {
    return JSON.parse(value);
  } catch {
    throw new VariableError(name, "must be a table, or JSON");
  }
}
