/** A batch at a glance: its name, its path, its state as a pill, reasons of failures, its lines and its money as meters, and how long it still takes. */

import { roundedAmount } from "../amounts.ts";
import type { Batch } from "../answers.ts";
import type { Language, Translate } from "../messages.ts";
import { cutId, Pill, spaced, StatusPill, useAround } from "../parts/index.ts";
import { fromUnits } from "../../db/ledger.ts";

export const batchName = ({ id, reference }: Batch) => reference ?? cutId(id);
export const hasEnded = ({ ended_at: endedAt }: Batch) => endedAt !== undefined;

export const BatchPill = ({ batch: { status, waiting_for: waiting } }: { batch: Batch }) => {
  const { t } = useAround();
  if (waiting !== undefined) return <Pill icon="clock" tone="warn" text={t(`batch_waits_${waiting}`)} />;
  if (status === "validating") return <Pill icon="spin" tone="run" text={t("batch_validating")} />;
  return status === "failed" ? <Pill icon="bad" tone="bad" text={t("batch_failed")} /> : <StatusPill task={{ status }} />;
};

/** The path of a batch in the API. An id from a path may be empty or `..`. */
export const batchPath = (id: string) => `/v1/batches/${/^batch_[\w-]+$/.test(id) ? id : "unknown"}`;

const reasons = [
  "content_policy_violation",
  "invalid_request",
  "invalid_input",
  "model_not_found",
  "model_not_available",
  "provider_error",
  "deadline_exceeded",
  "cancelled",
  "insufficient_quota",
  "cost_limit_exceeded",
  "unauthorized",
] as const;

/** A short name for the reason of a failure: that of its code, or the code itself. */
export function reasonText(t: Translate, code: string): string {
  const known = reasons.find((one) => one === code);
  return known ? t(`batch_reason_${known}`) : code.replaceAll("_", " ");
}

/** `1 h 30 m`, rounded up to what its length needs. English has letters for its units, as in countdowns. */
export function durationText(language: Language, seconds: number): string {
  const unitDisplay = language === "en" ? "narrow" : "short";
  const unit = (value: number, name: "hour" | "minute" | "second") =>
    spaced(value.toLocaleString(language, { style: "unit", unit: name, unitDisplay }));
  if (seconds < 90) return unit(Math.max(1, Math.ceil(seconds)), "second");
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return unit(minutes, "minute");
  const left = minutes % 60;
  return left === 0 ? unit(minutes / 60, "hour") : `${unit(Math.floor(minutes / 60), "hour")} ${unit(left, "minute")}`;
}

interface MeterProps {
  label: string;
  parts: { as: "done" | "bad" | "run" | "held"; value: number }[];
  /** The value at the end of the track. */
  of: number;
  /** The value at which the line is drawn. */
  mark?: number | undefined;
  isThin?: boolean;
}

const track = 1000;
const gap = 2;

/** Parts of a whole, side by side; a small part stays visible. */
const Meter = ({ label, parts, of, mark, isThin }: MeterProps) => {
  let at = 0;
  const bars = parts
    .filter(({ value }) => value > 0)
    .map(({ as, value }) => {
      const width = Math.min(Math.max(4, Math.round((value / Math.max(of, value)) * track) - gap), Math.max(0, track - at));
      const bar = <rect class={as} x={at} width={width} height={8} />;
      at += width + gap;
      return bar;
    });
  return (
    <svg class={isThin ? "meter thin" : "meter"} viewBox={`0 0 ${track} 8`} preserveAspectRatio="none" role="img" aria-label={label}>
      <rect width={track} height={8} rx={4} />
      {bars}
      {mark !== undefined && (
        <rect class="cap" x={Math.min(track - 3, Math.round((mark / Math.max(of, mark)) * track))} y={-2} width={3} height={12} />
      )}
    </svg>
  );
};

/** The words of the meter of lines. */
function linesLabel(t: Translate, language: Language, { counts }: Batch): string {
  const { completed, failed, running, queued } = counts;
  const count = (value: number) => value.toLocaleString(language);
  return t("batch_lines_label", { done: count(completed), failed: count(failed), run: count(running), wait: count(queued) });
}

/** Failed lines beside the completed ones, then those that run. */
export const LinesMeter = ({ batch, isThin = false }: { batch: Batch; isThin?: boolean }) => {
  const { t, language } = useAround();
  const { completed, failed, running, total } = batch.counts;
  return (
    <Meter
      label={linesLabel(t, language, batch)}
      parts={[
        { as: "done", value: completed },
        { as: "bad", value: failed },
        { as: "run", value: running },
      ]}
      of={Math.max(1, total)}
      isThin={isThin}
    />
  );
};

/** The track ends at the limit; without one, at what all lines cost. */
export const MoneyMeter = ({ batch: { cost } }: { batch: Batch }) => {
  const { t, language, unit } = useAround();
  const { charged, reserved, limit, expected } = cost;
  const amount = (units: number) => roundedAmount(language, unit, fromUnits(units));
  return (
    <Meter
      label={t("batch_money_label", { charged: amount(charged), held: amount(reserved) })}
      parts={[
        { as: "done", value: charged },
        { as: "held", value: reserved },
      ]}
      of={Math.max(limit ?? expected ?? 0, charged + reserved, 1e-6)}
      mark={limit === null ? undefined : expected}
    />
  );
};
