/** The start page: balance, running tasks, latest outputs; first steps for a new account. */

import type { ConsoleContext, ConsoleEnvironment } from "./context.ts";
import { Hono } from "hono";
import { findHelper } from "./billing/credit.tsx";
import { findThreshold } from "../db/low-balances.ts";
import { remaining } from "../db/ledger.ts";
import { startOfDays } from "../db/ledger-reports.ts";
import { readBalance, readSpent, readUses } from "./ledger.ts";
import { page, signedIn } from "./frame.tsx";
import { mayOpen } from "./access.ts";
import { readFirstCall } from "./keys/first-call.tsx";
import { makeFirst } from "./overview/first-image.tsx";
import { readAccountKeys } from "./keys/account-keys.ts";
import { Filled, Link, Money, shownStatus, Spark, Stats } from "./parts/index.ts";
import { OutOfBalance } from "./parts/out-of-balance.tsx";
import { FirstSteps, FirstThings } from "./overview/first-steps.tsx";
import { Failures, ModelsUsed, Recent, Running } from "./overview/lists.tsx";
import { isOpen, listTasks } from "./tasks/answers.ts";
import { hashedPath } from "./static-files.ts";
import { readPreviews } from "./tasks/previews.ts";

const sparkDays = 14;
const recentShown = 8;
const failuresShown = 4;
/** The number of newest tasks among which running ones are searched, and of those without a result, among which some were cancelled. */
const newest = 12;

/** True if the user has created keys for programs. */
const hasKeys = async (c: ConsoleContext) => (await readAccountKeys(c)).length > 0;

async function overviewPage(c: ConsoleContext) {
  const { t } = c.var;
  const { id } = c.var.account;
  const now = Date.now();
  const month = new Date(now).toISOString().slice(0, 7);
  const [balance, spent, latest, completed, failed, uses, isKeyed, threshold] = await Promise.all([
    readBalance(c, id),
    readSpent(c, id, startOfDays(31, now)),
    listTasks(c, `limit=${newest}`),
    listTasks(c, `status=completed&limit=${recentShown}`),
    listTasks(c, `status=failed&limit=${newest}`),
    readUses(c, id, Date.parse(`${month}-01T00:00:00Z`)),
    hasKeys(c),
    findThreshold(c.env.DB, id),
  ]);
  const left = remaining(balance);
  if (latest.length === 0 && uses.length === 0) {
    const first = mayOpen(c.var.membership.role, "POST", "/console/first") ? await readFirstCall(c) : undefined;
    return page(c, t("overview"), <FirstThings c={c} left={left} isKeyed={isKeyed} first={first} />);
  }
  const low = left !== null && left <= Math.max(0, threshold ?? 0) ? { left, helper: await findHelper(c) } : undefined;
  const today = startOfDays(1, now);
  const sum = (since: number) => spent.reduce((total, { day, charged }) => total + (day >= since ? charged : 0), 0);
  const daily = Array.from(
    { length: sparkDays },
    (_, at) => sum(startOfDays(sparkDays - at, now)) - sum(startOfDays(sparkDays - at - 1, now)),
  );
  return page(
    c,
    t("overview"),
    <>
      {low && <OutOfBalance {...low} />}
      {!isKeyed && <FirstSteps left={left} isKeyed={false} hasMade />}
      <div class={isKeyed ? "duo" : "duo gap"}>
        <section class="card">
          <Stats
            of={[
              [
                t("balance"),
                <Money millionths={left} />,
                <Filled message="reserved_small" by={{ amount: <Money millionths={balance.reserved} /> }} />,
              ],
              [t("spent_today"), <Money millionths={sum(today)} />],
              [<a href="/console/usage?days=7">{t("usage_last_week")}</a>, <Money millionths={sum(startOfDays(7, now))} />],
            ]}
          />
          <Spark amounts={daily} since={startOfDays(sparkDays, now)} />
        </section>
        <Running tasks={latest.filter(isOpen)} />
      </div>
      <Recent tasks={completed} previews={await readPreviews(c, completed)} />
      <section class="duo">
        <ModelsUsed uses={uses} />
        <Failures tasks={failed.filter((task) => shownStatus(task) === "failed").slice(0, failuresShown)} />
      </section>
      <script src={hashedPath("stills.js")} type="module" />
    </>,
    200,
    {
      actions: <Link class="btn primary hide-s" href="/console/playground" icon="plus" text={t("new")} />,
    },
  );
}

/** Returns only the part of the page that refreshes itself while tasks run. */
async function running(c: ConsoleContext) {
  return page(c, c.var.t("overview"), <Running tasks={(await listTasks(c, `limit=${newest}`)).filter(isOpen)} />);
}

export const overview = new Hono<ConsoleEnvironment>()
  .get("/", signedIn, overviewPage)
  .get("/running", signedIn, running)
  .post("/first", signedIn, (c) =>
    makeFirst(c, async (left) => <FirstSteps left={left} isKeyed={await hasKeys(c)} hasMade isBeside isSwapped />),
  );
