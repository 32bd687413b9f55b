/** Where a task's time went, one bar a step. Admins also see each provider that was asked; callers never do. */

import type { Child } from "hono/jsx";
import type { Task } from "../../tasks/record.ts";
import { reasonText } from "../batches/state.tsx";
import { Legend, SectionHead, shownStatus, spanText, unitText, useAround } from "../parts/index.ts";

const width = 1000;
/** A bar is never thinner than this, so that it is seen. */
const least = 4;
const marks = [0, 0.25, 0.5, 0.75, 1];
/** Calls of the receiver that began later after the end than this are listed below the bars, and would make all bars short. */
const callbacksWithinMs = 60_000;

/** What the colours of bars mean, in the order of the legend. */
const looks = { d6: "fall_look_wait", d1: "fall_made", bad: "failed_status" } as const;
type Look = keyof typeof looks;

interface Bar {
  name: Child;
  from: number;
  to: number;
  look: Look;
  cause?: Child;
}

/** What the four parts of the axis may be, times a power of ten of seconds or minutes. */
const roundParts = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The length of the axis, which holds `ms` in four parts of round numbers, and the text of a time on it: `0 s`, `0.6 s`, `1.5 min`. */
function toAxis(language: string, ms: number): { all: number; text: (share: number) => string } {
  const [unitMs, unit] = ms < 120_000 ? ([1000, "second"] as const) : ([60_000, "minute"] as const);
  const part = ms / unitMs / 4;
  const power = 10 ** Math.floor(Math.log10(part));
  const round = (roundParts.find((factor) => factor * power >= part) ?? 10) * power;
  return {
    all: 4 * round * unitMs,
    text: (share) => unitText(language, 4 * round * share, unit, { maximumSignificantDigits: 2 }),
  };
}

/** The steps in their order; `now` ends the present one. */
function useBars(record: Task, isAdmin: boolean, now: number): Bar[] {
  const { t } = useAround();
  const { createdAt, startedAt, readyAt, finalAt, status, attempts, submission, route, callback } = record;
  const end = finalAt ?? now;
  const isFailed = shownStatus(record) === "failed";
  const made = readyAt !== undefined && readyAt <= end ? readyAt : end;
  const work: Bar[] = [];
  if (startedAt !== undefined) {
    const look = isFailed ? "bad" : "d1";
    if (!isAdmin)
      work.push({
        name: t("fall_made"),
        from: startedAt,
        to: made,
        look,
        cause: isFailed && record.error ? reasonText(t, record.error) : undefined,
      });
    else {
      let from = startedAt;
      for (const [at, attempt] of attempts.entries()) {
        const to = attempt.to ?? from;
        work.push({
          name: (
            <>
              <b>{at + 1}</b> · {attempt.provider}
            </>
          ),
          from: attempt.from ?? from,
          to,
          look: "bad",
          cause: <code>{attempt.outcome}</code>,
        });
        from = to;
      }
      const current = submission.routes[route];
      // The current route may be an earlier one that was resumed. After the last route has failed there is no current route.
      const resumed = attempts[route];
      if (current && (!resumed || !isFailed))
        work.push({
          name: (
            <>
              <b>{route + 1}</b> · {current.provider}
            </>
          ),
          from: resumed?.from ?? record.askedAt ?? from,
          to: made,
          look,
          cause: isFailed ? <code>{record.error}</code> : undefined,
        });
    }
  }
  const calls = (callback?.attempts ?? []).filter(({ at }) => at < end + callbacksWithinMs);
  return [
    { name: t("fall_waited"), from: createdAt, to: startedAt ?? end, look: "d6" },
    ...work,
    ...(status === "completed" && made < end ? [{ name: t("fall_stored"), from: made, to: end, look: "d6" as const }] : []),
    ...calls.map(({ at, ms, status: answered, fault }): Bar => ({
      name: t("callback"),
      from: at,
      to: at + ms,
      look: answered !== undefined && answered < 300 ? "d6" : "bad",
      cause: answered ?? t(`fault_${fault ?? "interrupted"}`),
    })),
  ];
}

export const Waterfall = ({ record, isAdmin }: { record: Task; isAdmin: boolean }) => {
  const { t, language } = useAround();
  const bars = useBars(record, isAdmin, Date.now()).map((bar) => ({ ...bar, to: Math.max(bar.from, bar.to) }));
  const { all, text } = toAxis(language, Math.max(...bars.map(({ to }) => to), record.createdAt + 1) - record.createdAt);
  const place = (ms: number) => (Math.min(1, Math.max(0, (ms - record.createdAt) / all)) * width).toFixed(1);
  return (
    <section>
      <SectionHead title={t("fall")}>
        <Legend
          class="legend push"
          of={(Object.keys(looks) as Look[]).filter((look) => bars.some((bar) => bar.look === look)).map((look) => [look, t(looks[look])])}
        />
      </SectionHead>
      <div class="card">
        <ol class="fall">
          <li class="meta" aria-hidden="true">
            <span />
            <span class="axis num">
              {marks.map((share) => (
                <span>{text(share)}</span>
              ))}
            </span>
            <span />
          </li>
          {bars.map(({ name, from, to, look, cause }) => (
            <li>
              <span class="clip">{name}</span>
              <svg viewBox={`0 0 ${width} 12`} preserveAspectRatio="none" aria-hidden="true">
                {marks.map((share) => (
                  <line class="g" x1={share * width} x2={share * width} y1="-12" y2="24" />
                ))}
                <rect
                  class={look}
                  x={Math.min(Number(place(from)), width - least)}
                  width={Math.max(least, Number(place(to)) - Number(place(from)))}
                  height="12"
                />
              </svg>
              <span class="num">{spanText(language, to - from)}</span>
              {cause !== undefined && <p>{cause}</p>}
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
};
