/** `/console/billing`: the balance over time, prepaid codes, and what moved the quota. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { remaining } from "../../db/ledger.ts";
import { startOfDays } from "../../db/ledger-reports.ts";
import { listQuotaChanges } from "../../db/quota-changes.ts";
import { page, readForm, signedIn } from "../frame.tsx";
import { readBalance, readSpent } from "../ledger.ts";
import { Note } from "../parts/note.tsx";
import { formatAmount } from "../amounts.ts";
import { Balance } from "./balance.tsx";
import { History } from "./history.tsx";
import { redeem, redeemedText, RedeemForm } from "./redeem.tsx";
import { dailyBalances, daysLeft } from "./series.ts";

const path = "/console/billing";
const courseDays = 30;
/** The days whose charges tell how long the balance lasts. */
const rateDays = 7;
/** The number of changes that are read for the course, and of those the shown ones. */
const movesRead = 500;
const movesShown = 50;

interface Shown {
  /** A code that was refused. */
  code?: { typed: string; problem: string };
  status?: 200 | 400 | 429;
}

async function billingPage(c: ConsoleContext, { code, status = 200 }: Shown = {}) {
  const { t } = c.var;
  const { id } = c.get("account");
  const now = Date.now();
  const since = startOfDays(courseDays, now);
  const [balance, spent, moves] = await Promise.all([
    readBalance(c, id),
    readSpent(c, id, since),
    listQuotaChanges(c.env.DB, id, movesRead),
  ]);
  const left = remaining(balance);
  const shortfall = balance.shortfall ?? 0;
  const course = left === null ? [] : dailyBalances({ left: left + balance.reserved - shortfall, spent, moves, since, days: courseDays });
  const rateSince = startOfDays(rateDays, now);
  const recent = spent.reduce((sum, { day, charged }) => (day >= rateSince ? sum + charged : sum), 0);
  const redeemed = Number(c.req.query("redeemed"));
  return page(
    c,
    t("billing"),
    <>
      {redeemed > 0 && Number.isSafeInteger(redeemed) && (
        <Note tone="good" role="status">
          {redeemedText(c, redeemed)}
        </Note>
      )}
      {shortfall > 0 && <Note tone="bad">{t("billing_short", { amount: formatAmount(c, shortfall) })}</Note>}
      <div class="paybox">
        <Balance
          left={left}
          reserved={balance.reserved}
          shortfall={shortfall}
          lasts={left === null ? undefined : daysLeft(left, recent, rateDays)}
          course={course}
          since={since}
        />
        <section class="card" aria-labelledby="code-title">
          <header>
            <h2 id="code-title">{t("billing_code_title")}</h2>
          </header>
          <RedeemForm path={`${path}/redeem`} typed={code?.typed} problem={code?.problem} />
        </section>
      </div>
      <section>
        <div class="sub">
          <h2>{t("billing_history")}</h2>
        </div>
        <History moves={moves.slice(0, movesShown)} />
      </section>
    </>,
    status,
  );
}

async function redeemPosted(c: ConsoleContext) {
  const typed = (await readForm(c))("code").slice(0, 60);
  const outcome = await redeem(c, typed);
  return "amount" in outcome
    ? c.redirect(`${path}?redeemed=${outcome.amount}`, 303)
    : billingPage(c, { code: { typed, problem: outcome.refusal }, status: outcome.status });
}

export const billing = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => billingPage(c))
  .post("/redeem", redeemPosted);
