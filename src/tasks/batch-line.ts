/** A task as a line of a batch: which one it is, what its object reports to the batch's when it has ended, and how the console reads ended lines. */

import type { DeliveryOutcome } from "../db/delivery-events.ts";

/** In the submission of a task that a batch made. */
export interface BatchLine {
  /** The id of the batch's object (hexadecimal). */
  batch: string;
  /** The number of the line in the input, from 0. */
  line: number;
}

/** The end of a line. */
export interface LineReport {
  status: "completed" | "failed";
  /** Millionths */
  charged: number;
  /** The JSON of `data` of the generic status query. */
  data: string;
}

/** Which ended lines of a batch are asked for. */
export interface LineQuery {
  status?: "completed" | "failed" | undefined;
  /** The code of the error. */
  code?: string | undefined;
  /** Only lines after this number. */
  after?: number | undefined;
  limit: number;
  /** From the end of the input. */
  isNewest?: boolean;
}

/** `result` is the line of the results, as JSON; lines count from 0. `delivery`: how that of its files has ended. */
export interface EndedLines {
  lines: { n: number; result: string; delivery?: DeliveryOutcome | null }[];
  hasMore: boolean;
}

/** The failed lines with the same error. */
export interface FailureGroup {
  code: string;
  lines: number;
  /** How many of them were valid, so that they may succeed another time, and their price in millionths. */
  repeatable: number;
  price: number;
}
