/** How a test tells the stand-in upstream what to do. */

/** What the upstream does with the job whose prompt (or `start,end` of a character) contains `match`. */
export interface Script {
  match: string;
  /** Only for work of this upstream model. */
  model?: string;
  /** Answers to the first calls of `start`, before it accepts: HTTP statuses, or "hang up" after accepting. */
  starts?: (number | "hang up")[];
  /** Answers to polls, one each, before it succeeds: HTTP statuses, progress, or a final failure. */
  polls?: (number | { progress: number } | { failed: string })[];
  /** Answers to cancellations, one each, before they are taken: HTTP statuses. */
  cancels?: number[];
  /** Images made; as many as asked unless told. */
  images?: number;
  /** Bodies of the next output downloads: a status, or a body that ends early. */
  downloads?: (number | "truncated" | "garbage")[];
}
