/** What a maker reports of the work that it bills: the measures that it prices. */

export interface MakerUsage {
  /** How long its machine worked. */
  seconds?: number | undefined;
  inputTokens?: number | undefined;
  /** Those of the input tokens that it had cached. */
  cachedTokens?: number | undefined;
  outputTokens?: number | undefined;
  /** The cost itself, in dollars. */
  usd?: number | undefined;
}

/** xAI's unit of its `cost_in_usd_ticks`. */
const ticksOfDollar = 1e10;

export const dollarsOfTicks = (ticks: unknown): number | undefined =>
  typeof ticks === "number" && ticks >= 0 && Number.isFinite(ticks) ? ticks / ticksOfDollar : undefined;
