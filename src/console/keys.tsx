/** API keys: listed, created and shown once, deleted. */

import { Hono } from "hono";
import { deleteKey, insertKey, listKeys } from "../accounts.ts";
import { balanceOf, openWallet, toUnits } from "../quota.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page, signedIn } from "./frame.tsx";
import { Moment, Problem } from "./layout.tsx";

/** The account's keys that people made: nobody could use the console's own. */
const keysOf = async (c: ConsoleContext) =>
  (await listKeys(c.env.DB, c.get("account").id)).filter(({ id }) => id !== c.get("caller").keyId);

async function keysPage(c: ConsoleContext, problem?: string) {
  const { say } = c.var;
  const keys = await keysOf(c);
  const rows = await Promise.all(keys.map(async (key) => ({ ...key, balance: (await balanceOf(c.env.DB, key.id))! })));
  return page(
    c,
    say("api_keys"),
    <>
      {rows.length === 0 ? (
        <p>{say("no_keys")}</p>
      ) : (
        <div class="overflow-auto">
          <table>
            <thead>
              <tr>
                <th scope="col">{say("key_name")}</th>
                <th scope="col">{say("prefix")}</th>
                <th scope="col">{say("quota")}</th>
                <th scope="col">{say("used")}</th>
                <th scope="col">{say("created")}</th>
                <th scope="col">{say("expires")}</th>
                <td></td>
              </tr>
            </thead>
            <tbody>
              {rows.map((key) => (
                <tr>
                  <th scope="row">{key.name}</th>
                  <td>
                    <code>{key.prefix}…</code>
                  </td>
                  <td>{key.balance.quota === null ? say("unlimited") : toUnits(key.balance.quota)}</td>
                  <td>{toUnits(key.balance.used)}</td>
                  <td>
                    <Moment ms={key.createdAt} />
                  </td>
                  <td>{key.expiresAt === null ? say("never") : <Moment ms={key.expiresAt} />}</td>
                  <td>
                    <a href={`/console/keys/${key.id}/delete`}>{say("delete")}</a>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <h2>{say("create_key")}</h2>
      <form method="post" class="narrow">
        <Problem text={problem} />
        <label>
          {say("key_name")}
          <input name="name" maxlength={200} required />
        </label>
        <label>
          {say("quota")}
          <input name="quota" inputmode="decimal" aria-describedby="quota-hint" />
          <small id="quota-hint">{say("quota_hint", { unit: c.env.BALANCE_UNIT })}</small>
        </label>
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

/** Millionths, null for no limit, undefined for what is no quota. */
export function quotaOf(text: string): number | null | undefined {
  if (text === "") return null;
  return /^\d{1,10}(\.\d{1,6})?$/.test(text) && Number(text) <= 1e9 ? Math.round(Number(text) * 1e6) : undefined;
}

async function create(c: ConsoleContext) {
  const { say } = c.var;
  const field = await fieldsOf(c);
  const name = field("name");
  const quota = quotaOf(field("quota"));
  // A key lives to the end of the day that is given, UTC.
  const expiresAt = field("expires") === "" ? null : Date.parse(`${field("expires")}T23:59:59Z`);
  if (name === "" || name.length > 200) return keysPage(c, say("bad_name"));
  if (quota === undefined) return keysPage(c, say("bad_quota"));
  if (expiresAt !== null && !(expiresAt > Date.now())) return keysPage(c, say("bad_expiry"));
  const { apiKey, key, statement } = await insertKey(c.env.DB, c.get("account").id, name, expiresAt);
  await c.env.DB.batch([statement, openWallet(c.env.DB, apiKey.id, quota)]);
  return page(
    c,
    name,
    <>
      <p role="status">{say("key_created")}</p>
      <code class="secret" id="key">
        {key}
      </code>
      <p>
        <button type="button" hidden data-copy="key" data-copied={say("copied")}>
          {say("copy")}
        </button>{" "}
        <a href="/console/keys" role="button">
          {say("done")}
        </a>
      </p>
    </>,
  );
}

/** The account's own key of that id, or undefined: somebody else's is as good as none. */
const keyOf = async (c: ConsoleContext) => (await keysOf(c)).find(({ id }) => id === c.req.param("id"));

export const keys = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => keysPage(c))
  .post("/", create)
  .get("/:id/delete", async (c) => {
    const { say } = c.var;
    const key = await keyOf(c);
    if (!key) return page(c, say("not_found"), null, 404);
    return page(
      c,
      say("delete_key", { name: key.name }),
      <form method="post">
        <p>{say("delete_warning")}</p>
        <button>{say("delete")}</button>
        <a href="/console/keys" role="button" class="secondary">
          {say("cancel")}
        </a>
      </form>,
    );
  })
  .post("/:id/delete", async (c) => {
    const key = await keyOf(c);
    if (!key) return page(c, c.get("say")("not_found"), null, 404);
    await deleteKey(c.env.DB, key.id);
    return c.redirect("/console/keys", 303);
  });
