/** When a second route starts beside the first: a word of the operator's configuration that transitions read. */

/**
 * When the next route starts although the current one has accepted the work: `off` never; otherwise if the current route fails or does not
 * answer; with `slow` also if it is slow.
 */
export type Hedging = "off" | "failed" | "slow";
