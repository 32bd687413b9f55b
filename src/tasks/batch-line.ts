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
  /** The makers were busy: the line may be made again, as another task. */
  isBusy?: true | undefined;
  /** Its maker did not answer usably, and may have accepted the work: the line has failed, and the maker may be down. */
  isUnknown?: boolean | undefined;
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

/** The delivery of a line's files. */
export type LineDelivery = "pending" | DeliveryOutcome;

/** `result` is the line of the results, as JSON; lines count from 0. `delivery` is null for lines without one. */
export interface EndedLines {
  lines: { n: number; result: string; delivery?: LineDelivery | null }[];
  hasMore: boolean;
}

/** The failed lines with the same error. */
export interface FailureGroup {
  code: string;
  lines: number;
  /** How many of them may succeed another time, because they were valid, or are not checked. */
  repeatable: number;
  /** How many of these are not checked: their price is not known. */
  unchecked: number;
  /** The price of the valid ones, in millionths. */
  price: number;
}
