/** Where a task's time went, one bar a step. Admins also see each provider that was asked; callers never do. */

import type { Child } from "hono/jsx";
import type { Task } from "../../tasks/record.ts";
import { reasonText } from "../batches/state.tsx";
import { useAround } from "../parts/context.ts";
import { spanText, unitText } from "../parts/date-time.tsx";
import { SectionHead } from "../parts/section-head.tsx";
import { shownStatus } from "../parts/status.tsx";

const width = 1000;
/** A bar is never thinner than this, so that it is seen. */
const least = 4;
const marks = [0, 0.25, 0.5, 0.75, 1];
/** Calls of the receiver that began later after the end than this are listed below the bars, and would make all bars short. */
const callbacksWithinMs = 60_000;

/** What bars mean, in the order of the legend. */
const looks = ["wait", "run", "bad"] as const;

interface Bar {
  name: Child;
  from: number;
  to: number;
  look: (typeof looks)[number];
  cause?: Child;
}

/** A time on the axis, rounded so that its quarters differ: `0 s`, `0.43 s`, `13 s`, `1.5 min`. */
function axisText(language: string, ms: number): string {
  const [figure, unit] = ms < 120_000 ? ([ms / 1000, "second"] as const) : ([ms / 60_000, "minute"] as const);
  return unitText(language, figure, unit, figure < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 });
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
    const look = isFailed ? "bad" : "run";
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
    { name: t("fall_waited"), from: createdAt, to: startedAt ?? end, look: "wait" },
    ...work,
    ...(status === "completed" && made < end ? [{ name: t("fall_stored"), from: made, to: end, look: "wait" as const }] : []),
    ...calls.map(({ at, ms, status: answered, fault }): Bar => ({
      name: t("callback"),
      from: at,
      to: at + ms,
      look: answered !== undefined && answered < 300 ? "wait" : "bad",
      cause: answered ?? t(`fault_${fault ?? "interrupted"}`),
    })),
  ];
}

export const Waterfall = ({ record, isAdmin }: { record: Task; isAdmin: boolean }) => {
  const { t, language } = useAround();
  const bars = useBars(record, isAdmin, Date.now()).map((bar) => ({ ...bar, to: Math.max(bar.from, bar.to) }));
  const all = Math.max(...bars.map(({ to }) => to), record.createdAt + 1) - record.createdAt;
  const place = (ms: number) => (Math.min(1, Math.max(0, (ms - record.createdAt) / all)) * width).toFixed(1);
  return (
    <section>
      <SectionHead title={t("fall")}>
        <ul class="legend push">
          {looks
            .filter((look) => bars.some((bar) => bar.look === look))
            .map((look) => (
              <li>
                <svg class="key fall-key" viewBox="0 0 10 10" aria-hidden="true">
                  <rect class={look} width="10" height="10" rx="3" />
                </svg>
                {t(`fall_look_${look}`)}
              </li>
            ))}
        </ul>
      </SectionHead>
      <div class="card">
        <ol class="fall">
          <li class="meta" aria-hidden="true">
            <span />
            <span class="axis num">
              {marks.map((share) => (
                <span>{axisText(language, share * all)}</span>
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
