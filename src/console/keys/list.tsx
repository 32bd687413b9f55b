/** API keys: listed, created and shown once. */

import { Table } from "../parts.tsx";
import { Hono } from "hono";
import { insertKey } from "../../db/api-keys.ts";
import { openWallet } from "../../db/ledger.ts";
import { walletsOf } from "../ledger.ts";
import { amountIn } from "../amounts.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page, signedIn } from "../frame.tsx";
import { Moment, Problem } from "../layout.tsx";
import { keyChanges } from "./changes.tsx";
import { keysOf, NameAndQuota, nameAndQuota, shownOnce } from "./shared.tsx";
import { balanceUnit } from "../settings.ts";

const Expiry = ({ c, ms }: { c: ConsoleContext; ms: number | null }) => {
  if (ms === null) return <>{c.var.say("never")}</>;
  return (
    <>
      {ms <= Date.now() && <strong>{c.var.say("key_expired")} </strong>}
      <Moment ms={ms} />
    </>
  );
};

async function keysPage(c: ConsoleContext, problem?: string) {
  const { say, language } = c.var;
  const keys = await keysOf(c);
  const wallets = await walletsOf(
    c,
    c.get("account").id,
    keys.map(({ walletId }) => walletId),
  );
  const rows = keys.map((key) => ({ ...key, ...wallets.get(key.walletId)! }));
  const now = Date.now();
  return page(
    c,
    say("api_keys"),
    <>
      {rows.length === 0 ? (
        <p>{say("no_keys")}</p>
      ) : (
        <Table
          class="dense"
          label={say("api_keys")}
          columns={[say("key_name"), say("prefix"), say("quota"), say("used"), say("last_spent"), say("expires"), ""]}
        >
          {rows.map((key) => (
            <tr>
              <th scope="row" class="name">
                {key.name} {key.isReplaced && <small>({say("key_replaced")})</small>}
              </th>
              <td>
                <code>{key.prefix}…</code>
              </td>
              <td>{key.quota === null ? say("unlimited") : amountIn(language, key.quota)}</td>
              <td>{amountIn(language, key.used)}</td>
              <td>{key.reservedAt === null ? say("never_spent") : <Moment ms={key.reservedAt} />}</td>
              <td>
                <Expiry c={c} ms={key.expiresAt} />
              </td>
              <td class="actions">
                <a href={`/console/keys/${key.id}/change`} aria-label={`${say("change")}: ${key.name}`}>
                  {say("change")}
                </a>
                {!key.isReplaced && (key.expiresAt ?? Infinity) > now && (
                  <a href={`/console/keys/${key.id}/rotate`} aria-label={`${say("rotate")}: ${key.name}`}>
                    {say("rotate")}
                  </a>
                )}
                <a href={`/console/keys/${key.id}/delete`} aria-label={`${say("delete")}: ${key.name} ${key.prefix}…`}>
                  {say("delete")}
                </a>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {rows.length > 0 && (
        <p>
          <small>{say("keys_note", { unit: balanceUnit(c.env) })}</small>
        </p>
      )}
      <h2>{say("create_key")}</h2>
      <form method="post" class="narrow">
        <Problem text={problem} />
        <NameAndQuota c={c} />
        <label>
          {say("expires")}
          <input type="date" name="expires" aria-describedby="expires-hint" />
          <small id="expires-hint">{say("expires_hint")}</small>
        </label>
        <button>{say("create_key")}</button>
      </form>
    </>,
    problem === undefined ? 200 : 400,
  );
}

async function create(c: ConsoleContext) {
  const field = await fieldsOf(c);
  const given = nameAndQuota(c, field);
  if (typeof given === "string") return keysPage(c, given);
  // A key lives to the end of the day that is given, UTC.
  const expiresAt = field("expires") === "" ? null : Date.parse(`${field("expires")}T23:59:59Z`);
  if (expiresAt !== null && !(expiresAt > Date.now())) return keysPage(c, c.var.say("bad_expiry"));
  const { apiKey, key, statement } = await insertKey(c.env.DB, c.get("account").id, given.name, expiresAt);
  const [created] = await c.env.DB.batch([statement, openWallet(c.env.DB, apiKey.id, given.quota)]);
  if (created!.results.length === 0) return keysPage(c, c.var.say("too_many_keys"));
  return shownOnce(c, given.name, key);
}

export const keys = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => keysPage(c))
  .post("/", create)
  .route("/", keyChanges);
