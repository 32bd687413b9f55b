/** Passkeys: signing in with one; on the account page listed, added, deleted. All but deleting needs the browser's script. */

import * as z from "zod/mini";
import { readAnswer } from "../answers.ts";
import { Hono } from "hono";
import { askAuth, passCookies } from "../ask-auth.ts";
import { type ConsoleContext, type ConsoleEnvironment, sentIn, signedIn, nothingHere } from "../frame.tsx";
import type { Say } from "../messages.ts";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { pathOf } from "../static-files.ts";
import { Moment } from "../parts/moment.tsx";

const Script = () => <script src={pathOf("passkeys.js")} type="module" />;

/** Signs in with a passkey; shown where the browser can. */
export const PasskeyButton = ({ say, to }: { say: Say; to: string | undefined }) => (
  <div class="stack tight" data-passkey="sign-in" data-failed={say("passkey_failed")} data-to={to} hidden>
    <button type="button" class="btn full">
      <Icon name="finger" />
      {say("sign_in_passkey")}
    </button>
    <p class="err" role="alert" hidden />
    <Script />
  </div>
);

const passkeysOf = (c: ConsoleContext) => c.get("auth").api.listPasskeys({ headers: c.req.raw.headers });

/** On the account page: the passkeys, and a form for another one. */
export async function passkeysSection(c: ConsoleContext) {
  const { say } = c.var;
  const passkeys = await passkeysOf(c);
  return (
    <section>
      <div class="sub">
        <h2>{say("passkeys")}</h2>
        <p class="muted t13">{say("passkeys_hint")}</p>
      </div>
      {passkeys.length > 0 && (
        <ul class="card flush rows">
          {passkeys.map(({ id, name, createdAt }) => (
            <li>
              <form method="post" action={`/console/account/passkeys/${id}/delete`} class="row between">
                <span>
                  <b>{name ?? say("passkey")}</b>{" "}
                  <span class="meta">
                    <Moment ms={new Date(createdAt).getTime()} />
                  </span>
                </span>
                <button class="btn sm danger" aria-label={`${say("delete")}: ${name ?? say("passkey")}`}>
                  {say("delete")}
                </button>
              </form>
            </li>
          ))}
        </ul>
      )}
      <form data-passkey="add" data-failed={say("passkey_failed")} data-stale={say("not_fresh")} class="stack narrow gap0" hidden>
        <TextField name="name" id="f-passkey" label={say("passkey_name")} maxlength={100} required />
        <p class="err" role="alert" hidden />
        <p>
          <button class="btn">{say("add_passkey")}</button>
        </p>
      </form>
      <Script />
    </section>
  );
}

/** What better-auth answered, as JSON for the script. Of a failure it learns the status alone. */
async function pass(c: ConsoleContext, answer: Response, body: (answer: object) => object): Promise<Response> {
  passCookies(c, answer);
  return answer.ok
    ? c.json(body(await readAnswer(z.looseObject({}), answer)))
    : c.json({}, answer.status === 429 ? 429 : answer.status === 403 ? 403 : 400);
}

/** What a browser's script sent; nothing but an object is worth asking about. */
async function sentBy(c: ConsoleContext): Promise<{ response?: unknown; name?: unknown }> {
  const body: unknown = await (await sentIn(c)).json().catch(() => null);
  return typeof body === "object" && body !== null ? body : {};
}

export const passkeys = new Hono<ConsoleEnvironment>()
  .post("/passkeys/options", async (c) =>
    // Asked of a finger, a face or a code: the passkey is all that is asked for.
    pass(c, await askAuth(c, "/passkey/generate-authenticate-options"), (options) => ({ ...options, userVerification: "required" })),
  )
  .post("/passkeys", async (c) => {
    const { response } = await sentBy(c);
    const answer = await askAuth(c, "/passkey/verify-authentication", { response });
    if (answer.ok) await c.get("attempts").forgive();
    return pass(c, answer, () => ({}));
  })
  .post("/account/passkeys/options", signedIn, async (c) =>
    pass(c, await askAuth(c, "/passkey/generate-register-options"), (options) => options),
  )
  .post("/account/passkeys", signedIn, async (c) => {
    const { response, name } = await sentBy(c);
    if (typeof name !== "string" || name.length > 100) return c.json({}, 400);
    return pass(c, await askAuth(c, "/passkey/verify-registration", { response, name }), () => ({}));
  })
  .post("/account/passkeys/:id/delete", signedIn, async (c) => {
    const answer = await askAuth(c, "/passkey/delete-passkey", { id: c.req.param("id") });
    if (!answer.ok) return nothingHere(c);
    return c.redirect("/console/account?done=passkey_deleted", 303);
  });
