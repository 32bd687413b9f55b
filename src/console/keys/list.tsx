/** API keys: the list, creating one, and showing its secret once. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { createKey } from "../../db/api-keys.ts";
import { listMembers } from "../../db/memberships.ts";
import { known } from "../../base/known.ts";
import { readBalances } from "../ledger.ts";
import { actor, messageFor, page, signedIn, withCatalog } from "../frame.tsx";
import { keyChanges } from "./changes.tsx";
import { mayOpen } from "../access.ts";
import { readForm } from "../forms.ts";
import { budgetLeft, changeBudget } from "./budget.tsx";
import { KeyFields, KeyProblem, readKey } from "./form.tsx";
import { type Key, readAccountKeys } from "./account-keys.ts";
import { shownOnce } from "./shared.tsx";
import {
  Button,
  DataTable,
  DateTime,
  Empty,
  type FieldProblem,
  Fold,
  FoldLink,
  LimitBar,
  Link,
  Money,
  Pill,
  TwoLines,
  useAround,
} from "../parts/index.ts";
import type { WalletView } from "../../wallet/limits.ts";

const Expiry = ({ ms }: { ms: number | null }) => {
  const { t } = useAround();
  if (ms === null) return <>{t("never")}</>;
  return (
    <>
      {ms <= Date.now() && <Pill icon="ban" text={t("key_expired")} />} <DateTime ms={ms} />
    </>
  );
};

/** The messages after an action. */
const outcomes = { changed: "key_changed", deleted: "key_deleted", paused: "key_paused", resumed: "key_resumed" } as const;

async function keysPage(c: ConsoleContext, problem?: FieldProblem | string, typed?: (name: string) => string) {
  const { t } = c.var;
  const keys = await readAccountKeys(c);
  const wallets = await readBalances(
    c,
    c.var.account.id,
    keys.map(({ walletId }) => walletId),
  );
  const people = new Map((await listMembers(c.env.DB, c.var.account.id)).map(({ userId, email }) => [userId, email]));
  // The owner is shown only if the account has several members.
  const nameOf = ({ ownerId }: Key) => (people.size < 2 ? undefined : ownerId === null ? t("key_of_account") : people.get(ownerId));
  const isWriter = mayOpen(c.var.membership.role, "POST", "/console/keys");
  const rows = keys.map((key) => ({ ...key, ...known(wallets, key.walletId), owner: nameOf(key) }));
  return page(
    c,
    t("api_keys"),
    <>
      {rows.length === 0 ? <Empty icon="key" title={t("no_keys")} text={t("no_keys_why")} /> : <KeyTable c={c} rows={rows} />}
      {isWriter && (
        <section>
          <Fold text={t("create_key")} isOpen={rows.length === 0 || problem !== undefined}>
            <form method="post" class="stack narrow">
              <KeyProblem problem={problem} />
              <KeyFields c={c} expiresAt={null} typed={typed} problem={typeof problem === "object" ? problem : undefined} />
              <p>
                <Button class="btn primary" text={t("create_key")} />
              </p>
            </form>
          </Fold>
        </section>
      )}
    </>,
    problem === undefined ? 200 : 400,
    {
      lead: t("keys_lead"),
      toast: messageFor(c, outcomes, c.req.query("done")),
      ...(isWriter && rows.length > 0 && { actions: <FoldLink text={t("create_key")} to="f-name" /> }),
    },
  );
}

type Row = Key & WalletView & { reservedAt: number | null; owner: string | undefined };

/** The used part of a key's quota. */
const Used = ({ quota, used, name }: Row) =>
  quota === null || quota === 0 ? null : <LimitBar limit={quota} used={used} label={`${useAround().t("used")}: ${name}`} isCell />;

/** What its user may do with a key. */
const Actions = ({ id, name, prefix, isReplaced, pausedAt, expiresAt }: Row) => {
  const { t } = useAround();
  const other = pausedAt === null ? "pause" : "resume";
  return (
    <span class="row end">
      <Link class="btn ghost sm" href={`/console/keys/${id}/change`} aria-label={`${t("change")}: ${name}`} text={t("change")} />
      <form method="post" action={`/console/keys/${id}/${other}`}>
        <Button class="btn ghost sm" aria-label={`${t(other)}: ${name}`} text={t(other)} />
      </form>
      {!isReplaced && pausedAt === null && (expiresAt ?? Infinity) > Date.now() && (
        <Link class="btn ghost sm" href={`/console/keys/${id}/rotate`} aria-label={`${t("rotate")}: ${name}`} text={t("rotate")} />
      )}
      <Link
        class="btn ghost sm danger"
        href={`/console/keys/${id}/delete`}
        aria-label={`${t("delete")}: ${name} ${prefix}…`}
        text={t("delete")}
      />
    </span>
  );
};

const KeyTable = ({ c, rows }: { c: ConsoleContext; rows: Row[] }) => {
  const { t } = useAround();
  const isWriter = mayOpen(c.var.membership.role, "POST", "/console/keys");
  return (
    <DataTable
      label={t("api_keys")}
      rows={rows}
      columns={[
        {
          name: t("name"),
          class: "wrap",
          cell: ({ name, prefix, isReplaced, pausedAt, scope, owner }) => (
            <>
              <TwoLines of={name} /> {isReplaced && <span class="tag">{t("key_replaced")}</span>}{" "}
              {pausedAt !== null && <Pill icon="clock" tone="warn" text={t("key_is_paused")} />}{" "}
              {Object.keys(scope).length > 0 && <span class="tag">{t("key_narrowed")}</span>}
              <span class="meta facts">
                <code class="id">{prefix}…</code>
                {owner !== undefined && ` · ${owner}`}
              </span>
            </>
          ),
        },
        { name: t("quota"), isNumber: true, cell: ({ quota }) => <Money millionths={quota} /> },
        {
          name: t("used"),
          isNumber: true,
          cell: (key) => (
            <>
              <Money millionths={key.used} />
              <Used {...key} />
            </>
          ),
        },
        { name: t("budget"), isExtra: true, class: "wrap", cell: ({ budget }) => (budget ? budgetLeft(c, budget) : "–") },
        {
          name: t("last_spent"),
          isExtra: true,
          cell: ({ reservedAt }) => (reservedAt === null ? t("never_spent") : <DateTime ms={reservedAt} />),
        },
        { name: t("expires"), isExtra: true, cell: ({ expiresAt }) => <Expiry ms={expiresAt} /> },
        { name: "", isNumber: true, cell: (key) => isWriter && key.isManaged && <Actions {...key} /> },
      ]}
    />
  );
};

async function create(c: ConsoleContext) {
  const field = await readForm(c);
  const read = readKey(c, field);
  if ("problem" in read) return keysPage(c, read.problem, field);
  const { budget, ...given } = read.given;
  const accountId = c.var.account.id;
  const created = await createKey(c.env.DB, actor(c), accountId, { ...given, ownerId: c.var.user.id });
  if (!created) return keysPage(c, c.var.t("too_many_keys"), field);
  // Set before the user sees the key, so that the key never spends without its budget.
  await changeBudget(c, accountId, created.apiKey.walletId, budget);
  return shownOnce(c, created.apiKey, created.key);
}

export const keys = new Hono<ConsoleEnvironment>()
  .use(withCatalog)
  .use(signedIn)
  .get("/", (c) => keysPage(c))
  .post("/", create)
  .route("/", keyChanges);
