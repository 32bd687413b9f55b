/** Small drawings over time: stacked bars, one stack a step, and a line. */

import { useAround } from "./context.ts";
import { dateText } from "./date-time.tsx";
import { dayMs } from "../../base/times.ts";

/** Of the ten units of a step, its bars take eight. */
export const stepWidth = 10;

interface StackProps {
  /** From the lowest on: the class of the colour, the value, and the tooltip. */
  bars: readonly { look: string; value: number; title?: string }[];
  /** The number of the step. */
  at: number;
  /** The value that is as high as the drawing, and its height. */
  top: number;
  height: number;
}

export const Stack = ({ bars, at, top, height }: StackProps) => {
  let below = 0;
  return (
    <>
      {bars.map(({ look, value, title }) => {
        if (value === 0) return null;
        const tall = (value / top) * height;
        below += tall;
        return (
          <rect class={look} x={at * stepWidth + 1} y={(height - below).toFixed(1)} width={stepWidth - 2} height={tall.toFixed(1)}>
            {title !== undefined && <title>{title}</title>}
          </rect>
        );
      })}
    </>
  );
};

const width = 100;
const height = 40;

interface SparkProps {
  /** One amount a day; `since` is the first day. */
  amounts: number[];
  since: number;
  /** For screen readers, if no table has the numbers. */
  label?: string;
  /** True to name the day in the middle too. */
  hasMiddle?: boolean;
}

/** A line in steps of a day, with the names of its days below it. */
export const Spark = ({ amounts, since, label, hasMiddle = false }: SparkProps) => {
  const { language, t } = useAround();
  const [top, bottom, steps] = [Math.max(...amounts, 1), Math.min(...amounts, 0), amounts.length - 1];
  const y = (amount: number) => (height - 2 - ((height - 4) * (amount - bottom)) / (top - bottom)).toFixed(2);
  const points = amounts.map((amount, at) => `${((at * width) / steps).toFixed(2)} ${y(amount)}`);
  const name = label === undefined ? ({ "aria-hidden": "true" } as const) : { role: "img", "aria-label": label };
  return (
    <div class="pt">
      <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" {...name}>
        <path class="a" d={`M0 ${height}L${points.join("L")}L${width} ${height}Z`} />
        <path d={`M${points.join("L")}`} />
      </svg>
      <div class="row meta num between">
        <span>{dateText(language, since)}</span>
        {hasMiddle && <span>{dateText(language, since + Math.floor(steps / 2) * dayMs)}</span>}
        <span>{t("today")}</span>
      </div>
    </div>
  );
};
