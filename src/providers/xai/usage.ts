/** What xAI bills for a request, also for refused content: ten thousand million ticks are a dollar (docs.x.ai, "Usage and cost"). Pure. */

import { dollarsOfTicks, type MakerUsage } from "../../base/maker-usage.ts";

export interface WireUsage {
  cost_in_usd_ticks?: number | null;
}

export const toUsage = (usage: WireUsage | null | undefined): MakerUsage => ({ usd: dollarsOfTicks(usage?.cost_in_usd_ticks) });

/** What several requests cost together; not known if one of them does not say it. */
export const addUsage = (one: MakerUsage, other: MakerUsage): MakerUsage => ({
  usd: one.usd === undefined || other.usd === undefined ? undefined : one.usd + other.usd,
});
