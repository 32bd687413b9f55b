/** Visible labels: what to send to an upstream that has a switch for one. */

import type { GenerationRequest } from "../provider.ts";

/** True for a label, false for none; undefined to send nothing, so that the maker's own default holds. */
export const wantsLabel = ({ watermark, label }: GenerationRequest): boolean | undefined =>
  watermark ?? (label === "maker" ? undefined : label === "on");
