/** API keys: the list, creating one, and showing its secret once. */

import { Hono } from "hono";
import { insertKey } from "../../db/api-keys.ts";
import { openWallet } from "../../db/ledger.ts";
import { known } from "../../known.ts";
import { walletsOf } from "../ledger.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page, signedIn } from "../frame.tsx";
import { keyChanges } from "./changes.tsx";
import { readScope, ScopeFields } from "./scope.tsx";
import { type Key, keysOf, NameAndQuota, nameAndQuota, shownOnce } from "./shared.tsx";
import { useAround } from "../parts/context.ts";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { Pill } from "../parts/status.tsx";
import { Problem } from "../parts/note.tsx";
import { Table } from "../parts/table.tsx";

const Expiry = ({ ms }: { ms: number | null }) => {
  const { say } = useAround();
  if (ms === null) return <>{say("never")}</>;
  return (
    <>
      {ms <= Date.now() && <Pill icon="ban" text={say("key_expired")} />} <DateTime ms={ms} />
    </>
  );
};

async function keysPage(c: ConsoleContext, problem?: string) {
  const { say } = c.var;
  const keys = await keysOf(c);
  const wallets = await walletsOf(
    c,
    c.get("account").id,
    keys.map(({ walletId }) => walletId),
  );
  const rows = keys.map((key) => ({ ...key, ...known(wallets, key.walletId) }));
  return page(
    c,
    say("api_keys"),
    <>
      {rows.length === 0 ? (
        <div class="empty">
          <Icon name="key" />
          <b>{say("no_keys")}</b>
          <p>{say("no_keys_why")}</p>
        </div>
      ) : (
        <KeyTable rows={rows} />
      )}
      <section>
        <div class="sub">
          <h2 id="new">{say("create_key")}</h2>
        </div>
        <form method="post" class="stack narrow">
          <Problem text={problem} />
          <NameAndQuota c={c} />
          <ScopeFields c={c} />
          <TextField name="expires" type="date" label={say("expires")} hint={say("expires_hint")} />
          <p>
            <button class="btn primary">{say("create_key")}</button>
          </p>
        </form>
      </section>
    </>,
    problem === undefined ? 200 : 400,
    { lead: say("keys_lead") },
  );
}

type Row = Key & { quota: number | null; used: number; reservedAt: number | null };

/** The used part of a key's quota; amber from nine tenths on. */
const Used = ({ quota, used, name }: Row) =>
  quota === null || quota === 0 ? null : (
    <progress
      class={used >= 0.9 * quota ? "quota warn" : "quota"}
      max={quota}
      value={used}
      aria-label={`${useAround().say("used")}: ${name}`}
    />
  );

const KeyTable = ({ rows }: { rows: Row[] }) => {
  const { say } = useAround();
  const now = Date.now();
  return (
    <Table
      label={say("api_keys")}
      columns={[
        say("key_name"),
        { name: say("prefix"), isExtra: true },
        { name: say("quota"), isNumber: true },
        { name: say("used"), isNumber: true },
        { name: "", isExtra: true },
        { name: say("last_spent"), isExtra: true },
        { name: say("expires"), isExtra: true },
        { name: "", isNumber: true },
      ]}
    >
      {rows.map((key) => (
        <tr>
          <th scope="row" class="wrap">
            {key.name} {key.isReplaced && <span class="tag">{say("key_replaced")}</span>}{" "}
            {Object.keys(key.scope).length > 0 && <span class="tag">{say("key_narrowed")}</span>}
          </th>
          <td class="hide-s">
            <code class="id">{key.prefix}…</code>
          </td>
          <td class="num">
            <Money millionths={key.quota} />
          </td>
          <td class="num">
            <Money millionths={key.used} />
          </td>
          <td class="hide-s">
            <Used {...key} />
          </td>
          <td class="hide-s">{key.reservedAt === null ? say("never_spent") : <DateTime ms={key.reservedAt} />}</td>
          <td class="hide-s">
            <Expiry ms={key.expiresAt} />
          </td>
          <td class="num">
            <span class="row end">
              <a class="btn ghost sm" href={`/console/keys/${key.id}/change`} aria-label={`${say("change")}: ${key.name}`}>
                {say("change")}
              </a>
              {!key.isReplaced && (key.expiresAt ?? Infinity) > now && (
                <a class="btn ghost sm" href={`/console/keys/${key.id}/rotate`} aria-label={`${say("rotate")}: ${key.name}`}>
                  {say("rotate")}
                </a>
              )}
              <a
                class="btn ghost sm danger"
                href={`/console/keys/${key.id}/delete`}
                aria-label={`${say("delete")}: ${key.name} ${key.prefix}…`}
              >
                {say("delete")}
              </a>
            </span>
          </td>
        </tr>
      ))}
    </Table>
  );
};

async function create(c: ConsoleContext) {
  const field = await fieldsOf(c);
  const given = nameAndQuota(c, field);
  if (typeof given === "string") return keysPage(c, given);
  const scope = readScope(c, field);
  if (typeof scope === "string") return keysPage(c, scope);
  // A key expires at the end of the given day, UTC.
  const expiresAt = field("expires") === "" ? null : Date.parse(`${field("expires")}T23:59:59Z`);
  if (expiresAt !== null && !(expiresAt > Date.now())) return keysPage(c, c.var.say("bad_expiry"));
  const { apiKey, key, statement } = await insertKey(c.env.DB, c.get("account").id, given.name, expiresAt, { scope });
  const [created] = await c.env.DB.batch([statement, openWallet(c.env.DB, apiKey.id, given.quota)]);
  if (created?.results.length === 0) return keysPage(c, c.var.say("too_many_keys"));
  return shownOnce(c, given.name, key);
}

export const keys = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => keysPage(c))
  .post("/", create)
  .route("/", keyChanges);
