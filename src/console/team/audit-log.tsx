/** The page of the audit log: who did what, when and from where, and its CSV file. For owners and admins. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import type { ActName } from "../../base/acts.ts";
import { type AuditFilter, type AuditRow, type Facts, listAuditLog } from "../../db/audit-log.ts";
import { listMembers } from "../../db/memberships.ts";
import { signedIn } from "../frame.tsx";
import type { Translate } from "../messages.ts";
import { fullAmount } from "../amounts.ts";
import { sendCsv } from "../downloads.ts";
import { withQuery, readPlace, placeText, firstRows } from "../list-address.ts";
import { type Role, roles } from "../../base/roles.ts";
import { dayMs, toDate } from "../../base/times.ts";
import { fromUnits } from "../../db/ledger.ts";
import {
  type Around,
  Choice,
  dateText,
  lengthText,
  Link,
  NavLinks,
  Pager,
  parseBrowser,
  Table,
  useAround,
  UtcTime,
} from "../parts/index.ts";
import { teamPage } from "./frame.tsx";
import { loginWord } from "./list.tsx";

const path = "/console/audit-log";
const rowsOnPage = 50;

/** The chips above the list, each with its acts. */
const kinds: Record<string, readonly ActName[]> = {
  sign_in: [
    "signed_in",
    "sign_in_failed",
    "password_changed",
    "login_added",
    "login_removed",
    "passkey_added",
    "passkey_removed",
    "address_changed",
  ],
  keys: ["key_created", "key_changed", "key_expiry_changed", "key_paused", "key_resumed", "key_rotated", "key_deleted"],
  members: [
    "owner_invited",
    "member_invited",
    "invitation_withdrawn",
    "member_joined",
    "role_changed",
    "member_disabled",
    "member_enabled",
    "member_removed",
    "member_left",
    "account_renamed",
    "account_address_changed",
  ],
  money: [
    "quota_changed",
    "budget_changed",
    "payment_begun",
    "payment_succeeded",
    "payment_returned",
    "payment_disputed",
    "top_up_changed",
    "low_balance_changed",
    "code_created",
    "code_redeemed",
    "code_withdrawn",
  ],
  webhooks: ["webhook_changed", "webhook_secret_rotated", "destination_set", "destination_deleted"],
};
const kindWords = {
  sign_in: "sign_in",
  keys: "api_keys",
  members: "members",
  money: "audit_money",
  webhooks: "webhooks",
} as const;
const periods = ["1", "7", "30"];

interface Asked {
  kind?: string | undefined;
  who?: string | undefined;
  /** undefined: everything that is kept. */
  days?: string | undefined;
}

function readAsked(c: ConsoleContext): Asked {
  const kind = c.req.query("kind");
  const days = periods.find((one) => one === c.req.query("days"));
  return { kind: kind !== undefined && Object.hasOwn(kinds, kind) ? kind : undefined, who: c.req.query("who") || undefined, days };
}

const toFilter = ({ kind, who, days }: Asked): AuditFilter => ({
  acts: kind === undefined ? undefined : kinds[kind],
  actor: who,
  since: days === undefined ? undefined : Date.now() - Number(days) * dayMs,
});

const pathWith = (asked: Asked, more: Record<string, string> = {}, at = path) => withQuery(at, { ...asked, ...more });

/** The words for an actor without a name. */
function actorText(t: Translate, { actor, actorId }: AuditRow): string {
  if (actor === "operator") return t("actor_operator");
  if (actorId === "oidc") return t("sign_in_sso");
  if (actorId === "stripe") return "Stripe";
  return actorId === "sign_in" ? t("audit_stranger") : (actorId ?? "–");
}

/** The page of what an act was about, for people of the account; undefined if it has none. */
function toPlace({ act, targetMember }: AuditRow): string | undefined {
  if (targetMember !== null) return `/console/members#${targetMember}`;
  if (act === "member_invited") return "/console/members";
  if (act.startsWith("key_")) return "/console/keys";
  if (act.startsWith("destination_")) return "/console/destinations";
  if (act.startsWith("webhook_")) return "/console/webhooks";
  return /^(payment_|top_up_|code_|quota_)/.test(act) ? "/console/billing" : undefined;
}

/** What an act was about, in its sentence. */
function toSubject({ act, target, targetName, after }: AuditRow): string {
  const invited = act === "member_invited" ? (after?.["email"] ?? after?.["name"]) : undefined;
  return typeof invited === "string" ? invited : (targetName ?? target ?? "–");
}

/** So much of a value is shown; the CSV file has all of it. */
const valueShown = 120;

/** Facts in words: `$5.00 / month (UTC)`. Those without words of ours keep the name that answers give them: `region: eu-central-1`. */
function factsText({ language, t, unit }: Around, facts: Facts | null, subject: string): string {
  const amount = (value: unknown) => fullAmount(language, unit, fromUnits(Number(value)));
  const date = (value: unknown) => dateText(language, 1000 * Number(value));
  const words = ([name, value]: [string, Facts[string]]): string | undefined => {
    const text = String(value);
    switch (name) {
      // Of the budget, the money of the top-up, the key's owner, the invitation that was accepted: said elsewhere in the row, or ids.
      case "window":
      case "money":
      case "currency":
      case "owner":
      case "invitation":
        return undefined;
      case "scope":
        return text === "{}" ? undefined : text;
      case "below":
        return `${t("billing_below")} ${amount(value)}`;
      case "add":
        return `${t("billing_add")} ${amount(value)}`;
      case "at_most_a_month":
        return `${t("billing_ceiling")} ${text} ${String(facts?.["currency"] ?? "").toUpperCase()}`;
      case "budget": {
        const window = facts?.["window"] === "day" ? "budget_day" : "budget_month";
        return value === null ? t("no_limit") : `${amount(value)} / ${t(window)}`;
      }
      case "quota":
        return `${t("quota")}: ${value === null ? t("unlimited") : amount(value)}`;
      case "amount":
        return amount(value);
      case "role":
        return roles.some((role) => role === text) ? t(`role_${text as Role}`) : text;
      case "disabled":
        return value === true ? t("admin_disabled") : undefined;
      case "login":
        return loginWord(t, text);
      case "expires_at":
      case "old_until":
        return value === null ? "–" : `${t("expires")} ${date(value)}`;
      case "name":
      case "email":
      case "prefix":
        return text;
      case "browser":
        return parseBrowser(text);
      default:
        return `${name}: ${value === null ? "–" : text}`;
    }
  };
  return Object.entries(facts ?? {})
    .flatMap((fact) => words(fact) ?? [])
    .filter((text) => text !== subject)
    .map((text) => (text.length > valueShown ? `${text.slice(0, valueShown)}…` : text))
    .join(" · ");
}

const Row = ({ row, isLinked }: { row: AuditRow; isLinked: boolean }) => {
  const around = useAround();
  const { t } = around;
  const subject = toSubject(row);
  const [before, after] = [factsText(around, row.before, subject), factsText(around, row.after, subject)];
  const sentence = t(`act_${row.act}`, { target: subject });
  const place = isLinked ? toPlace(row) : undefined;
  return (
    <tr>
      <th scope="row">
        <UtcTime ms={row.at} />
      </th>
      <td class="wrap who">{row.actorName ?? actorText(t, row)}</td>
      <td class="wrap grow">
        <b>{place === undefined ? sentence : <a href={place}>{sentence}</a>}</b>
        {(before !== "" || after !== "") && (
          <span class="meta facts">
            {before !== "" && <del>{before}</del>}
            {before !== "" && after !== "" && " → "}
            {after}
          </span>
        )}
      </td>
      <td class="hide-s">{row.address === null ? "–" : <code class="id">{row.address}</code>}</td>
    </tr>
  );
};

/** A table for each day in UTC. Its sentences are links for people of the account (`isLinked`). */
export const Entries = ({ rows, isLinked = false }: { rows: AuditRow[]; isLinked?: boolean }) => {
  const { language, t } = useAround();
  const days = Map.groupBy(rows, ({ at }) => dateText(language, at));
  return (
    <div class="stack">
      {[...days].map(([day, ofDay]) => (
        <Table
          label={`${t("audit_log")}, ${day}`}
          class="audit"
          columns={[`${day}, UTC`, t("audit_who"), t("audit_what"), { name: t("audit_from"), isExtra: true }]}
        >
          {ofDay.map((row) => (
            <Row row={row} isLinked={isLinked} />
          ))}
        </Table>
      ))}
    </div>
  );
};

async function logPage(c: ConsoleContext) {
  const { t } = c.var;
  const { id } = c.var.account;
  const asked = readAsked(c);
  const [read, members] = await Promise.all([
    listAuditLog(c.env.DB, id, toFilter(asked), { limit: rowsOnPage + 1, after: readPlace(c) }),
    listMembers(c.env.DB, id),
  ]);
  const { rows, last } = firstRows(read, rowsOnPage);
  const kinds = Object.entries(kindWords).map(([kind, word]) => ({
    path: pathWith({ ...asked, kind }),
    text: t(word),
    isHere: asked.kind === kind,
  }));
  return teamPage(
    c,
    "audit_log",
    <>
      <div class="sub">
        <NavLinks
          class="chips"
          label={t("audit_what")}
          of={[{ path: pathWith({ ...asked, kind: undefined }), text: t("any_kind"), isHere: asked.kind === undefined }, ...kinds]}
        />
        <span class="row push">
          <Choice
            name="who"
            any={t("audit_anyone")}
            options={members.map(({ userId, email }) => ({ value: userId, text: email }))}
            chosen={asked.who}
            to={(who) => pathWith({ ...asked, who })}
          />
          <Choice
            name="days"
            any={t("audit_any_time")}
            options={periods.map((days) => ({ value: days, text: lengthText(c.var.language, Number(days) * dayMs) }))}
            chosen={asked.days}
            to={(days) => pathWith({ ...asked, days })}
          />
        </span>
      </div>
      <section>
        {rows.length === 0 ? <p class="muted">{t("audit_none")}</p> : <Entries rows={rows} isLinked />}
        <Pager note={t("audit_kept")} next={last && pathWith(asked, { after: placeText(last) })} />
      </section>
    </>,
    200,
    {
      actions: <Link class="btn" href={pathWith(asked, {}, `${path}/log.csv`)} aria-label={t("audit_csv")} icon="down" text="CSV" />,
    },
  );
}

const columns = {
  at: ({ at }: AuditRow) => new Date(at).toISOString(),
  act: ({ act }: AuditRow) => act,
  actor: ({ actor }: AuditRow) => actor,
  actor_id: ({ actorId }: AuditRow) => actorId ?? "",
  actor_name: ({ actorName }: AuditRow) => actorName ?? "",
  address: ({ address }: AuditRow) => address ?? "",
  target: ({ target }: AuditRow) => target ?? "",
  target_name: ({ targetName }: AuditRow) => targetName ?? "",
  before: ({ before }: AuditRow) => (before === null ? "" : JSON.stringify(before)),
  after: ({ after }: AuditRow) => (after === null ? "" : JSON.stringify(after)),
};

/** Every entry that the filters choose. */
function download(c: ConsoleContext) {
  const filter = toFilter(readAsked(c));
  return sendCsv<AuditRow>(c, `audit-log-${toDate(Date.now())}`, columns, (part) => listAuditLog(c.env.DB, c.var.account.id, filter, part));
}

export const auditLog = new Hono<ConsoleEnvironment>().use(signedIn).get("/", logPage).get("/log.csv", download);
