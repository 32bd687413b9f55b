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
