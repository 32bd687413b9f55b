/** Passkeys: signing in with one; listing, adding and deleting them on the account page. All except deleting needs script. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import * as z from "zod/mini";
import { readAnswer } from "../answers.ts";
import { Hono } from "hono";
import { askAuth, passCookies } from "../ask-auth.ts";
import { readBody } from "../forms.ts";
import { authSettings, cookies, signedIn, nothingHere } from "../frame.tsx";
import { parseJson } from "../../media/json-limits.ts";
import type { Translate } from "../messages.ts";
import { Button, DateTime, TextField } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { recordLogins } from "../sign-in-changes.ts";

/** Of a user: each is a row as large as the browser makes it. */
const maxPasskeys = 50;

const Script = () => <script src={hashedPath("passkeys.js")} type="module" />;

/** The button to sign in with a passkey; shown if the browser supports it. */
export const PasskeyButton = ({ t, to }: { t: Translate; to: string | undefined }) => (
  <div class="stack tight" data-passkey="sign-in" data-failed={t("passkey_failed")} data-to={to} hidden>
    <Button type="button" class="btn full" icon="finger" text={t("sign_in_passkey")} />
    <p class="err" role="alert" hidden />
    <Script />
  </div>
);

const listPasskeys = (c: ConsoleContext) => c.env.AUTH.listPasskeys(authSettings(c), cookies(c));

/** On the account page: the list of passkeys, and a form to add one. */
export async function passkeysSection(c: ConsoleContext) {
  const { t } = c.var;
  const passkeys = await listPasskeys(c);
  return (
    <section>
      <h2>{t("passkeys")}</h2>
      <p class="muted t13">{t("passkeys_hint")}</p>
      {passkeys.length > 0 && (
        <ul class="card flush rows">
          {passkeys.map(({ id, name, createdAt }) => (
            <li>
              <form method="post" action={`/console/account/passkeys/${id}/delete`} class="row between">
                <span>
                  <b>{name ?? t("passkey")}</b>{" "}
                  <span class="meta">
                    <DateTime ms={createdAt.getTime()} />
                  </span>
                </span>
                <Button class="btn sm danger" aria-label={`${t("delete")}: ${name ?? t("passkey")}`} text={t("delete")} />
              </form>
            </li>
          ))}
        </ul>
      )}
      <form data-passkey="add" data-failed={t("passkey_failed")} data-stale={t("not_fresh")} class="stack narrow gap0" hidden>
        <TextField name="name" id="f-passkey" label={t("passkey_name")} maxlength={100} required />
        <p class="err" role="alert" hidden />
        <p>
          <Button class="btn" text={t("add_passkey")} />
        </p>
      </form>
      <Script />
    </section>
  );
}

/** better-auth's answer as JSON for the script. For a failure only the status is passed on. */
async function pass(c: ConsoleContext, answer: Response, body: (answer: object) => object): Promise<Response> {
  passCookies(c, answer);
  return answer.ok
    ? c.json(body(await readAnswer(z.looseObject({}), answer)))
    : c.json({}, answer.status === 429 ? 429 : answer.status === 403 ? 403 : 400);
}

/** The body that a browser's script sent; only an object is passed on. */
async function sentBy(c: ConsoleContext): Promise<{ response?: unknown; name?: unknown }> {
  const body: unknown = await (
    await readBody(c)
  )
    .text()
    .then((text) => parseJson(text))
    .catch(() => null);
  return typeof body === "object" && body !== null ? body : {};
}

export const passkeys = new Hono<ConsoleEnvironment>()
  .post("/passkeys/options", async (c) =>
    // User verification is required, because the passkey is the only factor.
    pass(c, await askAuth(c, "/passkey/generate-authenticate-options"), (options) => ({ ...options, userVerification: "required" })),
  )
  .post("/passkeys", async (c) => {
    const { response } = await sentBy(c);
    return pass(c, await askAuth(c, "/passkey/verify-authentication", { response }), () => ({}));
  })
  .post("/account/passkeys/options", signedIn, async (c) =>
    pass(c, await askAuth(c, "/passkey/generate-register-options"), (options) => options),
  )
  .post("/account/passkeys", signedIn, async (c) => {
    const { response, name } = await sentBy(c);
    if (typeof name !== "string" || name.length > 100 || (await listPasskeys(c)).length >= maxPasskeys) return c.json({}, 400);
    return pass(c, await askAuth(c, "/passkey/verify-registration", { response, name }), () => ({}));
  })
  .post("/account/passkeys/:id/delete", signedIn, async (c) => {
    const answer = await askAuth(c, "/passkey/delete-passkey", { id: c.req.param("id") });
    if (!answer.ok) return nothingHere(c);
    await recordLogins(c, c.var.user.id);
    return c.redirect("/console/account?done=passkey_deleted", 303);
  });
