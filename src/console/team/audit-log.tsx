/** The page of the audit log: who did what, when and from where, and its CSV file. For owners and admins. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import type { ActName } from "../../base/acts.ts";
import { type AuditFilter, type AuditPlace, type AuditRow, type Facts, listAuditLog } from "../../db/audit-log.ts";
import { listMembers } from "../../db/memberships.ts";
import { signedIn } from "../frame.tsx";
import type { Translate } from "../messages.ts";
import { useAround } from "../parts/context.ts";
import { ClockTime } from "../parts/date-time.tsx";
import { Icon } from "../parts/icon.tsx";
import { Table } from "../parts/table.tsx";
import { buildQuery } from "../tasks/search.ts";
import { line } from "../parts/csv.ts";
import { teamPage } from "./frame.tsx";

const path = "/console/audit-log";
const rowsOnPage = 50;
const dayMs = 86_400_000;

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
    "payment_succeeded",
    "payment_returned",
    "payment_disputed",
    "top_up_changed",
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
const periods = [1, 7, 30] as const;

interface Asked {
  kind?: string | undefined;
  who?: string | undefined;
  /** undefined: everything that is kept. */
  days?: number | undefined;
}

function readAsked(c: ConsoleContext): Asked {
  const kind = c.req.query("kind");
  const days = periods.find((one) => String(one) === c.req.query("days"));
  return { kind: kind !== undefined && Object.hasOwn(kinds, kind) ? kind : undefined, who: c.req.query("who") || undefined, days };
}

const toFilter = ({ kind, who, days }: Asked): AuditFilter => ({
  acts: kind === undefined ? undefined : kinds[kind],
  actor: who,
  since: days === undefined ? undefined : Date.now() - days * dayMs,
});

function pathWith({ days, ...asked }: Asked, more: Record<string, string> = {}, at = path): string {
  const query = buildQuery({ ...asked, ...(days !== undefined && { days: String(days) }), ...more });
  return query === "" ? at : `${at}?${query}`;
}

/** The place `{milliseconds}_{entry}` in the link to older entries. */
export function parsePlace(text = ""): AuditPlace | undefined {
  const [, at, id] = /^(\d{1,15})_(aud_\w{22})$/.exec(text) ?? [];
  return at && id ? { at: Number(at), id } : undefined;
}

/** `quota: 10, window: month` */
const factsText = (facts: Facts | null): string =>
  Object.entries(facts ?? {})
    .map(([name, value]) => `${name}: ${value === null ? "–" : String(value)}`)
    .join(", ");

/** The words for an actor without a name. */
function actorText(t: Translate, { actor, actorId }: AuditRow): string {
  if (actor === "operator") return t("actor_operator");
  if (actorId === "oidc") return t("sign_in_sso");
  return actorId === "sign_in" ? t("audit_stranger") : (actorId ?? "–");
}

const Row = ({ row }: { row: AuditRow }) => {
  const { t } = useAround();
  const [before, after] = [factsText(row.before), factsText(row.after)];
  const subject = row.targetName ?? row.target;
  return (
    <tr>
      <th scope="row">
        <ClockTime ms={row.at} />
      </th>
      <td class="wrap">{row.actorName ?? actorText(t, row)}</td>
      <td class="wrap grow">
        <b>{t(`act_${row.act}`)}</b> {subject !== null && subject !== row.actorName && <span>{subject}</span>}
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

export const Entries = ({ rows }: { rows: AuditRow[] }) => {
  const { t } = useAround();
  return (
    <Table label={t("audit_log")} columns={[t("audit_time"), t("audit_who"), t("audit_what"), { name: t("audit_from"), isExtra: true }]}>
      {rows.map((row) => (
        <Row row={row} />
      ))}
    </Table>
  );
};

async function logPage(c: ConsoleContext) {
  const { t } = c.var;
  const { id } = c.get("account");
  const asked = readAsked(c);
  const after = parsePlace(c.req.query("after"));
  const [rows, members] = await Promise.all([
    listAuditLog(c.env.DB, id, toFilter(asked), { limit: rowsOnPage + 1, after }),
    listMembers(c.env.DB, id),
  ]);
  const shown = rows.slice(0, rowsOnPage);
  const last = rows.length > rowsOnPage ? shown.at(-1) : undefined;
  const chip = (kind: string | undefined, text: string) => (
    <a class="chip" href={pathWith({ ...asked, kind })} aria-current={asked.kind === kind ? "true" : undefined}>
      {text}
    </a>
  );
  return teamPage(
    c,
    <>
      <div class="sub">
        <nav class="chips" aria-label={t("audit_what")}>
          {chip(undefined, t("any_kind"))}
          {(Object.keys(kindWords) as (keyof typeof kindWords)[]).map((kind) => chip(kind, t(kindWords[kind])))}
        </nav>
      </div>
      <form action={path} class="row">
        {asked.kind !== undefined && <input type="hidden" name="kind" value={asked.kind} />}
        <select class="in auto" name="who" aria-label={t("audit_who")}>
          <option value="">{t("audit_anyone")}</option>
          {members.map(({ userId, email }) => (
            <option value={userId} selected={userId === asked.who}>
              {email}
            </option>
          ))}
        </select>
        <select class="in auto" name="days" aria-label={t("usage_period")}>
          <option value="">{t("audit_all")}</option>
          {periods.map((days) => (
            <option value={days} selected={days === asked.days}>
              {t("usage_days", { days })}
            </option>
          ))}
        </select>
        <button class="btn">{t("audit_filter")}</button>
      </form>
      <section>
        {shown.length === 0 ? <p class="muted">{t("audit_none")}</p> : <Entries rows={shown} />}
        <p class="pager">
          <span class="meta">{t("audit_kept")}</span>
          {last && (
            <a class="btn sm push" href={pathWith(asked, { after: `${last.at}_${last.id}` })}>
              {t("usage_older")}
            </a>
          )}
        </p>
      </section>
    </>,
    200,
    {
      actions: (
        <a class="btn" href={pathWith(asked, {}, `${path}/log.csv`)} aria-label={t("audit_csv")}>
          <Icon name="down" />
          CSV
        </a>
      ),
    },
  );
}

const rowsAtOnce = 500;

/** Every entry that the filters choose, in parts while it is sent. An error while reading breaks the download off. */
function download(c: ConsoleContext) {
  const { id } = c.get("account");
  const filter = toFilter(readAsked(c));
  const encoder = new TextEncoder();
  const columns = ["at", "act", "actor", "actor_id", "actor_name", "address", "target", "target_name", "before", "after"];
  let after: AuditPlace | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Without a byte order mark Excel reads a file in a legacy encoding.
      controller.enqueue(encoder.encode(`\ufeff${line(columns)}`));
    },
    async pull(controller) {
      const rows = await listAuditLog(c.env.DB, id, filter, { limit: rowsAtOnce, after });
      const text = rows.map((row) =>
        line([
          new Date(row.at).toISOString(),
          row.act,
          row.actor,
          row.actorId ?? "",
          row.actorName ?? "",
          row.address ?? "",
          row.target ?? "",
          row.targetName ?? "",
          row.before === null ? "" : JSON.stringify(row.before),
          row.after === null ? "" : JSON.stringify(row.after),
        ]),
      );
      if (text.length > 0) controller.enqueue(encoder.encode(text.join("")));
      after = rows.at(-1);
      if (rows.length < rowsAtOnce) controller.close();
    },
  });
  return c.body(body, 200, {
    "content-type": "text/csv; charset=utf-8; header=present",
    "content-disposition": `attachment; filename="audit-log-${new Date().toISOString().slice(0, 10)}.csv"`,
  });
}

export const auditLog = new Hono<ConsoleEnvironment>().use(signedIn).get("/", logPage).get("/log.csv", download);
