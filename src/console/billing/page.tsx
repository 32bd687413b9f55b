/** `/console/billing`: the balance over time, payments, prepaid codes, and what moved the quota. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { remaining } from "../../db/ledger.ts";
import { startOfDays } from "../../db/ledger-reports.ts";
import { type ListedPayment, listPaid } from "../../db/payments.ts";
import { listQuotaChanges, type QuotaChange } from "../../db/quota-changes.ts";
import { isAtLeast } from "../access.ts";
import { actor, nothingHere, page, signedIn } from "../frame.tsx";
import { readBalance, readSpent } from "../ledger.ts";
import { Button, Link, Note, Pager, SectionHead } from "../parts/index.ts";
import { formatAmount, parseQuota } from "../amounts.ts";
import { sendCsv } from "../downloads.ts";
import { readForm } from "../forms.ts";
import { firstRows, placeText, readPlace, withQuery } from "../list-address.ts";
import { findThreshold, setThreshold } from "../../db/low-balances.ts";
import { findTopUp } from "../../db/top-ups.ts";
import { Automatic, changeAutomatic, type TypedTopUp } from "./automatic.tsx";
import { Balance } from "./balance.tsx";
import { LowBalance } from "./low-balance.tsx";
import { History, historyColumns } from "./history.tsx";
import { paymentColumns, Payments } from "./payments.tsx";
import { redeem, redeemedText, RedeemForm } from "./redeem.tsx";
import { dailyBalances, daysLeft } from "./series.ts";
import { paymentOptions, portalUrl, topUp, TopUpForm } from "./top-up.tsx";
import type { PageStatus } from "../page-status.ts";
import { toDate } from "../../base/times.ts";

const path = "/console/billing";
const courseDays = 30;
/** The number of changes that are read for the course, and of those on a page. */
const movesRead = 500;
const movesShown = 50;
const paymentsShown = 50;

interface Shown {
  /** A code that was refused. */
  code?: { typed: string; problem: string };
  /** An amount that was refused. */
  payment?: { typed: string; problem: string };
  /** Settings of automatic top-up that were refused. */
  automatic?: TypedTopUp;
  /** A threshold of the e-mail about a low balance that was refused. */
  below?: { value: string; problem: string };
  /** What went wrong with a link. */
  problem?: string;
  status?: PageStatus;
}

/** True if the user may pay, and see receipts and cards. */
const mayPay = (c: ConsoleContext) => isAtLeast(c.var.membership.role, "admin");

const readPaid = async (c: ConsoleContext, part: Parameters<typeof listPaid>[2]): Promise<ListedPayment[]> =>
  (await listPaid(c.env.DB, c.var.account.id, part)).map((payment) => (mayPay(c) ? payment : { ...payment, card: null }));

/** The title of a list with the link to its file. */
const FileTitle = ({ title, file, label }: { title: string; file: string | false; label: string }) => (
  <SectionHead title={title}>{file && <Link class="push t13" href={`${path}/${file}`} aria-label={label} text="CSV" />}</SectionHead>
);

async function billingPage(c: ConsoleContext, { code, payment, automatic, below, problem, status = 200 }: Shown = {}) {
  const { t } = c.var;
  const { id } = c.var.account;
  const now = Date.now();
  const since = startOfDays(courseDays, now);
  const after = readPlace(c);
  const moved = c.req.query("moved") ?? "";
  const movedAfter = /^\d{1,15}$/.test(moved) ? { id: Number(moved) } : undefined;
  const [balance, spent, moves, listed, options, paid, topUpSet, threshold] = await Promise.all([
    readBalance(c, id),
    readSpent(c, id, since),
    listQuotaChanges(c.env.DB, id, { limit: movesRead }),
    listQuotaChanges(c.env.DB, id, { limit: movesShown + 1, after: movedAfter }),
    paymentOptions(c),
    readPaid(c, { limit: paymentsShown + 1, after: after && { createdAt: after.at, id: after.id } }),
    findTopUp(c.env.DB, id, now),
    findThreshold(c.env.DB, id),
  ]);
  const { rows: payments, last } = firstRows(paid, paymentsShown);
  const { rows: history, last: lastMove } = firstRows(listed, movesShown);
  const returned = c.req.query("payment");
  const left = remaining(balance);
  const shortfall = balance.shortfall ?? 0;
  // A member's charges are not all that the balance pays.
  const ofAll = c.var.caller.ownWallets === undefined;
  const course =
    left === null || !ofAll ? [] : dailyBalances({ left: left + balance.reserved - shortfall, spent, moves, since, days: courseDays });
  const redeemed = Number(c.req.query("redeemed"));
  const payable = options?.offered.length && mayPay(c) ? options : undefined;
  // A payment or a code would add nothing to an unlimited quota.
  const offers = left === null ? undefined : payable;
  const refusal = problem ?? (left === null ? (payment?.problem ?? code?.problem) : undefined);
  const codes = left !== null && (
    <section class="card" aria-labelledby="code-title">
      <header>
        <h2 id="code-title">{t("billing_code_title")}</h2>
      </header>
      <RedeemForm path={`${path}/redeem`} typed={code?.typed} problem={code?.problem} />
    </section>
  );
  return page(
    c,
    t("billing"),
    <>
      {redeemed > 0 && Number.isSafeInteger(redeemed) && (
        <Note tone="good" role="status">
          {redeemedText(c, redeemed)}
        </Note>
      )}
      {(returned === "paid" || returned === "stored") && (
        <Note tone="good" role="status">
          {t(returned === "paid" ? "billing_thanks" : "billing_stored")}
        </Note>
      )}
      {refusal !== undefined && (
        <Note tone="bad" role="alert">
          {refusal}
        </Note>
      )}
      {shortfall > 0 && <Note tone="bad">{t("billing_short", { amount: formatAmount(c, shortfall) })}</Note>}
      <div class="paybox">
        <Balance
          left={left}
          reserved={balance.reserved}
          shortfall={shortfall}
          lasts={ofAll ? daysLeft(left, spent, now) : undefined}
          course={course}
          since={since}
        >
          {mayPay(c) && left !== null && <LowBalance path={`${path}/low`} threshold={threshold} typed={below} />}
        </Balance>
        {offers && (
          <section class="card" aria-labelledby="top-up-title">
            <header>
              <h2 id="top-up-title">{t("billing_top_up")}</h2>
            </header>
            <TopUpForm path={`${path}/pay`} options={offers} typed={payment?.typed} problem={payment?.problem} />
          </section>
        )}
        {!offers && codes}
      </div>
      {payable && (offers || topUpSet) && <Automatic path={`${path}/top-up`} options={payable} set={topUpSet} typed={automatic} />}
      {(options || payments.length > 0) && (
        <section>
          <FileTitle title={t("billing_payments")} file={payments.length > 0 && "payments.csv"} label={t("billing_csv")} />
          <Payments payments={payments} receiptPath={options && mayPay(c) ? `${path}/receipts` : undefined} />
          <Pager first={after && path} next={last && withQuery(path, { after: placeText({ at: last.createdAt, id: last.id }) })} />
        </section>
      )}
      {offers && codes}
      <section>
        <FileTitle title={t("billing_history")} file={history.length > 0 && "credits.csv"} label={t("billing_history_csv")} />
        <History moves={history} />
        <Pager first={movedAfter && path} next={lastMove && withQuery(path, { moved: String(lastMove.id) })} />
      </section>
    </>,
    status,
    {
      ...(options?.hasCustomer &&
        mayPay(c) && {
          actions: (
            <form method="post" action={`${path}/portal`}>
              <Button class="btn" icon="out" text={t("billing_portal")} />
            </form>
          ),
        }),
    },
  );
}

const paymentsFile = (c: ConsoleContext) =>
  sendCsv<ListedPayment>(c, `payments-${toDate(Date.now())}`, paymentColumns, (part) => readPaid(c, part));
const creditsFile = (c: ConsoleContext) =>
  sendCsv<QuotaChange>(c, `credits-${toDate(Date.now())}`, historyColumns, (part) => listQuotaChanges(c.env.DB, c.var.account.id, part));

async function redeemPosted(c: ConsoleContext) {
  const typed = (await readForm(c))("code").slice(0, 60);
  const outcome = await redeem(c, typed);
  return "amount" in outcome
    ? c.redirect(`${path}?redeemed=${outcome.amount}`, 303)
    : billingPage(c, { code: { typed, problem: outcome.refusal }, status: outcome.status });
}

/** Goes on at Stripe, where the person pays. The balance rises when Stripe says that the payment has succeeded. */
async function payPosted(c: ConsoleContext) {
  const field = await readForm(c);
  const typed = field("other").slice(0, 40);
  const outcome = await topUp(c, field("chosen"), typed);
  return "url" in outcome
    ? c.redirect(outcome.url, 303)
    : billingPage(c, { payment: { typed, problem: outcome.refusal }, status: outcome.status });
}

async function automaticPosted(c: ConsoleContext) {
  const outcome = await changeAutomatic(c, await readForm(c));
  return "to" in outcome ? c.redirect(outcome.to, 303) : billingPage(c, outcome);
}

/** Sets below which balance the owners get an e-mail; empty for none. */
async function lowPosted(c: ConsoleContext) {
  const value = (await readForm(c))("below").slice(0, 40);
  const threshold = parseQuota(value);
  if (threshold === undefined || threshold === 0)
    return billingPage(c, { below: { value, problem: c.var.t("billing_bad_amount") }, status: 400 });
  await setThreshold(c.env.DB, actor(c), c.var.account.id, threshold);
  return c.redirect(path, 303);
}

async function portalPosted(c: ConsoleContext) {
  try {
    const url = await portalUrl(c);
    return url === undefined ? nothingHere(c) : c.redirect(url, 303);
  } catch {
    return billingPage(c, { problem: c.var.t("billing_stripe_away"), status: 503 });
  }
}

async function receiptPage(c: ConsoleContext) {
  const id = c.req.param("id") ?? "";
  if (!/^pay_\w{1,60}$/.test(id)) return nothingHere(c);
  try {
    const url = await c.env.API.paymentReceipt(c.var.account.id, id);
    return url === undefined ? nothingHere(c) : c.redirect(url, 303);
  } catch {
    return billingPage(c, { problem: c.var.t("billing_stripe_away"), status: 503 });
  }
}

/** The part of automatic top-up that names its card: Stripe is asked after the page is there. Nothing if it does not answer. */
async function cardPart(c: ConsoleContext) {
  const card = await c.env.API.paymentCard(c.var.account.id).catch(() => undefined);
  if (!card) return c.body(null, 204);
  const brand = card.brand.replace(/^./, (letter) => letter.toUpperCase());
  return c.html(c.var.t("billing_card", { brand, last4: card.last4 }));
}

export const billing = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => billingPage(c))
  .post("/redeem", redeemPosted)
  .post("/pay", payPosted)
  .post("/top-up", automaticPosted)
  .post("/low", lowPosted)
  .post("/portal", portalPosted)
  .get("/payments.csv", paymentsFile)
  .get("/credits.csv", creditsFile)
  .get("/card", cardPart)
  .get("/receipts/:id", receiptPage);
