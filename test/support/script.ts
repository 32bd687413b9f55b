/** Instructions of a test for the scripted upstream. */

/** Behaviour for the job whose prompt (or `start,end` of a character) contains `match`. */
export interface Script {
  match: string;
  /** Only for work of this upstream model. */
  model?: string;
  /** Answers to the first calls of `start`, before it accepts: HTTP statuses, or "hang up" after accepting. */
  starts?: (number | "hang up")[];
  /** Answers to polls, one each, before it succeeds: HTTP statuses, progress, or a final failure. */
  polls?: (number | { progress: number } | { failed: string })[];
  /** Answers to cancellations and erasures, one each, before they succeed: HTTP statuses. */
  cancels?: number[];
  /** Number of images that are made; defaults to the requested number. */
  images?: number;
  /** Answers to the next downloads of outputs: a status, or a body that ends early. */
  downloads?: (number | "truncated" | "garbage")[];
}
