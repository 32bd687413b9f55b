/** The account page: who somebody is, how and where they sign in, their language. */

import { Hono } from "hono";
import { type ConsoleContext, type ConsoleEnvironment, page, signedIn } from "../frame.tsx";
import { Problem } from "../layout.tsx";
import { languageNames } from "../messages.ts";
import { loginProblem, logins, loginsSection } from "./logins.tsx";
import { passkeys, passkeysSection } from "./passkeys.tsx";
import { password, passwordSection } from "./password.tsx";
import { sessions, sessionsSection } from "./sessions.tsx";

/** What the page says after something was done, or was not: by fixed names, for an address can be made by anybody. */
const outcomes = {
  password: "password_changed",
  session_ended: "session_ended",
  unlinked: "login_unlinked",
  passkey_added: "passkey_added",
  passkey_deleted: "passkey_deleted",
} as const;
const refusals = { not_fresh: "not_fresh", last_login: "last_login", bad_password: "bad_password", attempts: "too_many_attempts" } as const;

const named = <Names extends object>(names: Names, name: string | undefined) =>
  name !== undefined && Object.hasOwn(names, name) ? names[name as keyof Names] : undefined;

async function accountPage(c: ConsoleContext) {
  const { say, user, language } = c.var;
  const done = named(outcomes, c.req.query("done"));
  const refused = named(refusals, c.req.query("problem"));
  return page(
    c,
    say("account"),
    <>
      {done && <p role="status">{say(done)}</p>}
      <Problem text={refused ? say(refused) : loginProblem(c)} />
      <dl class="figures">
        <div>
          <dt>{say("name")}</dt>
          <dd class="plain">{user.name}</dd>
        </div>
        <div>
          <dt>{say("email")}</dt>
          <dd class="plain">{user.email}</dd>
        </div>
      </dl>
      {await passwordSection(c)}
      {await passkeysSection(c)}
      {await loginsSection(c)}
      {await sessionsSection(c)}
      <section>
        <h2>{say("language")}</h2>
        <form action="/console/language" class="narrow">
          <label>
            {say("language")}
            <select name="to">
              {Object.entries(languageNames).map(([code, name]) => (
                <option value={code} lang={code} selected={code === language}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button class="secondary">{say("choose")}</button>
        </form>
      </section>
    </>,
  );
}

export const account = new Hono<ConsoleEnvironment>()
  .get("/account", signedIn, accountPage)
  .route("/", password)
  .route("/", sessions)
  .route("/", logins)
  .route("/", passkeys);
