/** A task in four figures: the answer to its submission, how long it took, how many attempts it needed, what it cost. */

import type { ConsoleContext } from "../context.ts";
import { readRequests } from "../../db/requests.ts";
import { countAttempts } from "../../tasks/answers/receipt.ts";
import type { Task } from "../../tasks/record.ts";
import { Filled, Money, spanText, Stats, useAround } from "../parts/index.ts";

/** The answer to the submission. */
interface First {
  status: number;
  ms: number;
}

/** The log has a request with the time of its end, which differs from that of the task's record by less than this. */
const aroundMs = 120_000;

/** The answer to the task's submission, from the log of requests; undefined once it is no longer kept. */
export async function readSubmissionAnswer(c: ConsoleContext, { id, createdAt }: Task): Promise<First | undefined> {
  const { entries } = await readRequests(
    c.env.DB,
    c.var.account.id,
    { text: id, keys: c.var.caller.ownWallets, since: createdAt - aroundMs, until: createdAt + aroundMs },
    { limit: 20, now: Date.now() },
  );
  return entries.findLast((entry) => entry.task === id && entry.path.startsWith("POST "));
}

interface FiguresProps {
  record: Task;
  /** In millionths; the charge is null until the task is settled. */
  cost: { held: number; charged: number | null } | undefined;
  first: First | undefined;
  /** Of its model. */
  typicalSeconds: number | undefined;
}

export const Figures = ({ record, cost, first, typicalSeconds }: FiguresProps) => {
  const { t, language } = useAround();
  const { createdAt, finalAt } = record;
  const attempts = countAttempts(record);
  const charged = cost?.charged ?? null;
  return (
    <Stats
      isSmall
      of={[
        ...(first ? [[t("figure_answer"), first.status, t("figure_after", { time: spanText(language, first.ms) })] as const] : []),
        [
          t(finalAt === undefined ? "figure_runs" : "figure_ended"),
          spanText(language, (finalAt ?? Date.now()) - createdAt),
          typicalSeconds === undefined ? undefined : t("figure_typical", { time: spanText(language, 1000 * typicalSeconds) }),
        ],
        [
          t("task_attempts"),
          attempts,
          attempts === 0
            ? t("figure_not_asked")
            : attempts > 1
              ? t("figure_took_over", { count: attempts - 1 })
              : record.status === "completed"
                ? t("figure_one")
                : undefined,
        ],
        [
          t("usage_charged"),
          charged === null ? t("not_yet") : <Money millionths={charged} />,
          cost && (
            <Filled
              message={charged === null ? "reserved_small" : "figure_returned"}
              by={{ amount: <Money millionths={charged === null ? cost.held : cost.held - charged} /> }}
            />
          ),
        ],
      ]}
    />
  );
};
