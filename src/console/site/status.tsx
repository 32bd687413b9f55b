/** `/status`: the state of the service, for browsers and, by `Accept`, for programs. It shows only sums of all accounts. */

import type { ConsoleContext } from "../context.ts";
import { percentText } from "../amounts.ts";
import type { Kind } from "../../catalog/models.ts";
import { type Outcomes, readOutcomes } from "../../db/settled-sums.ts";
import { alert } from "../../base/log.ts";
import { hourMs } from "../../base/times.ts";
import { DataTable, Facts, Pill } from "../parts/index.ts";
import { docsPage } from "./docs-page.tsx";

const keptMs = 30_000;
/** If a smaller share of any kind's tasks completed, submissions are shown as degraded. */
const goodRate = 0.9;

type State = "operational" | "degraded" | "unavailable";

interface Status {
  submissions: State;
  kinds: ({ kind: string } & Outcomes)[];
  updatedAt: number;
}

/** Cached for half a minute for all visitors of this isolate. */
let known: Promise<Status> | undefined;
let knownUntil = 0;

function currentStatus(c: ConsoleContext): Promise<Status> {
  const now = Date.now();
  if (!known || now >= knownUntil || now < knownUntil - keptMs) {
    known = readStatus(c, now);
    knownUntil = now + keptMs;
  }
  return known;
}

/** Never throws. If the database does not answer, submissions are down. */
async function readStatus({ env }: ConsoleContext, now: number): Promise<Status> {
  try {
    const kinds = [...(await readOutcomes(env.DB, now - hourMs))].map(([kind, outcomes]) => ({ kind, ...outcomes }));
    const isGood = kinds.every(({ completionRate }) => completionRate >= goodRate);
    return { submissions: isGood ? "operational" : "degraded", kinds, updatedAt: now };
  } catch (error) {
    alert("status", { outcome: "unavailable" }, error);
    return { submissions: "unavailable", kinds: [], updatedAt: now };
  }
}

/** Answers the status as a page, or as JSON to programs. */
export async function showStatus(c: ConsoleContext): Promise<Response> {
  const status = await currentStatus(c);
  const isPage = c.req.header("accept")?.includes("text/html");
  return isPage ? page(c, status) : c.json(toAnswer(status));
}

const toAnswer = ({ submissions, kinds, updatedAt }: Status) => ({
  object: "status",
  api: "operational",
  submissions,
  kinds: kinds.map(({ kind, completionRate, medianSeconds }) => ({
    kind,
    completion_rate: completionRate,
    median_seconds: medianSeconds,
  })),
  updated_at: Math.floor(updatedAt / 1000),
});

const looks = {
  operational: { icon: "ok", tone: "good" },
  degraded: { icon: "clock", tone: "warn" },
  unavailable: { icon: "bad", tone: "bad" },
} as const;

function page(c: ConsoleContext, { submissions, kinds }: Status): Response | Promise<Response> {
  const { t, language } = c.var;
  const pill = (state: State) => <Pill {...looks[state]} text={t(`status_${state}`)} />;
  const percent = (rate: number) => percentText(language, rate);
  return docsPage(c, {
    title: t("status_page"),
    description: t("status_lead"),
    group: t("brand"),
    isTranslated: true,
    sections: [],
    children: (
      <>
        <h1>{t("status_page")}</h1>
        <p>{t("status_lead")}</p>
        <div class="card">
          <Facts
            of={[
              [t("status_api"), pill("operational")],
              [t("status_submissions"), pill(submissions)],
            ]}
          />
        </div>
        {kinds.length === 0 ? (
          <p>{t("status_none")}</p>
        ) : (
          <DataTable
            label={t("status_page")}
            rows={kinds}
            columns={[
              { name: t("kind"), cell: ({ kind }) => t(`kind_${kind as Kind | "chat"}`) },
              { name: t("status_completed"), isNumber: true, cell: ({ completionRate }) => percent(completionRate) },
              {
                name: t("status_median"),
                isNumber: true,
                cell: ({ medianSeconds }) => (medianSeconds === null ? "–" : t("length_seconds", { seconds: medianSeconds })),
              },
            ]}
          />
        )}
        <p class="hint">{t("status_hint")}</p>
      </>
    ),
  });
}
