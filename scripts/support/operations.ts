/** The platform operations of a task with one file, or of a chat, and their cost at Cloudflare's list prices of 2026-12-01. */

/** Counts for one task or chat. Operations that several tasks share are divided among them, so not all counts are whole numbers. */
export interface Operations {
  /** Requests of callers and of upstreams that call back. Reads of files are not counted. */
  requests: number;
  /** One of them is the fingerprint of the file; deleting it after `PROOF_DAYS` is another row, which is not counted here. */
  d1Rows: number;
  d1Calls: number;
  /** Keys put or deleted in objects. */
  objectRows: number;
  /** `setAlarm`: a row each. */
  alarmRows: number;
  objectCalls: number;
  /** Alarms that woke an object. */
  alarms: number;
  messages: number;
  /** R2: files written, lists. */
  classA: number;
  /** R2: files read. */
  classB: number;
  /** Without the lines of steps, which are only written with `LOG=all`; one line for a hundred submissions or status queries. */
  logLines: number;
  /** The bytes of these lines as the gateway writes them; the platform adds fields of its own. */
  logBytes: number;
}

/** What a counted life reports to `npm run tools -- price`, in the `meta` of its test. */
export interface Counted {
  kind: string;
  operations: Operations;
}

declare module "vitest" {
  interface TaskMeta {
    counted?: Counted;
  }
}

export const rows = ({ d1Rows, objectRows, alarmRows }: Operations) => d1Rows + objectRows + alarmRows;

/** Dollars for a million. */
const price = { row: 1, objectRequest: 0.15, workerRequest: 0.3, queueOperation: 0.4, classA: 4.5, classB: 0.36 };
/** Each message is written, read and deleted. */
const operationsPerMessage = 3;
/**
 * Workers Logs from 2026-12-01, in dollars: a gigabyte written, and kept for a month. The plan includes 50 GB written and 12 GB-months in
 * each month; these are the prices of what exceeds that.
 */
const logPrice = { gigabyte: 0.25, gigabyteMonth: 0.1 };
/** The platform keeps lines for a week. */
const keptMonths = 7 / 30;
/** An assumption: the bytes of the fields that the platform adds to a line (ids, times, the script's name and version). */
const platformBytes = 600;

/** Gigabytes of log for a million, with the platform's fields. */
export const logGigabytes = ({ logLines, logBytes }: Operations) => ((logBytes + logLines * platformBytes) * 1e6) / 1e9;

/** Dollars for a million, by purpose. The line for each invocation is switched off (`wrangler.toml`). */
export function costs(counts: Operations): Record<"rows" | "requests" | "queues" | "files" | "log", number> {
  const { requests, objectCalls, alarms, messages, classA, classB } = counts;
  return {
    rows: rows(counts) * price.row,
    requests: (requests + messages) * price.workerRequest + (objectCalls + alarms) * price.objectRequest,
    queues: messages * operationsPerMessage * price.queueOperation,
    files: classA * price.classA + classB * price.classB,
    log: logGigabytes(counts) * (logPrice.gigabyte + keptMonths * logPrice.gigabyteMonth),
  };
}

/** Dollars for a million. */
export const dollars = (counts: Operations): number => Object.values(costs(counts)).reduce((sum, one) => sum + one, 0);
