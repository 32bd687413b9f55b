/** The frame of a chart of amounts: grid lines with their amounts at the left, and times below. */

import type { Child } from "hono/jsx";
import { roundedAmount } from "../amounts.ts";
import { useAround } from "./context.ts";
import { dateText } from "./date-time.tsx";
import { dayMs } from "../../base/times.ts";

/** The height of the drawing in its own units; a page stretches it. */
export const plotHeight = 200;
const fourParts = [1, 0.75, 0.5, 0.25, 0];

/** The smallest round number that is not below an amount: 1, 2, 4 or 8 times a power of ten. */
export function roundUp(millionths: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(millionths, 1)));
  return ([1, 2, 4, 8].find((factor) => factor * power >= millionths) ?? 10) * power;
}

interface PlotProps {
  id?: string;
  label: string;
  /** The amount of the highest line, in millionths. */
  top: number;
  /** The width of the drawing in its own units. */
  width: number;
  /** The grid lines, as parts of the highest one. */
  lines?: readonly number[];
  /** The times below. */
  axis: Child;
  /** The drawing, as SVG. */
  children?: Child;
}

export const Plot = ({ id, label, top, width, lines = fourParts, axis, children }: PlotProps) => {
  const { language, unit } = useAround();
  return (
    <div class="plotgrid plot">
      <div class="ylab axis" aria-hidden="true">
        {lines.map((part) => (
          <span>{roundedAmount(language, unit, top * part)}</span>
        ))}
      </div>
      <div>
        <svg id={id} viewBox={`0 0 ${width} ${plotHeight}`} preserveAspectRatio="none" role="img" aria-label={label}>
          {lines.map((part) => (
            <line x1="0" x2={width} y1={plotHeight * (1 - part)} y2={plotHeight * (1 - part)} />
          ))}
          {children}
        </svg>
        {axis}
      </div>
    </div>
  );
};

/** Days from the first to the last, as far apart as their labels stand. */
export const DayAxis = ({ since, days }: { since: number; days: number }) => {
  const { language } = useAround();
  const parts = Math.min(days < 10 ? 3 : 4, days - 1);
  return (
    <div class="axis" aria-hidden="true">
      {Array.from({ length: parts + 1 }, (_, part) => since + Math.round((part / Math.max(parts, 1)) * (days - 1)) * dayMs).map((day) => (
        <span>{dateText(language, day)}</span>
      ))}
    </div>
  );
};
