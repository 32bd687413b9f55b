/** The pages to sign in and up, and signing out. */

import { NewPassword } from "./parts.tsx";
import { Hono } from "hono";
import { askAuth, follow } from "./ask-auth.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page } from "./frame.tsx";
import { Problem } from "./layout.tsx";
import { LoginButtons, loginProblem } from "./account/logins.tsx";
import { acceptInvitation, invitedTo, openAccount, type Person } from "./members.ts";
import { PasskeyButton } from "./account/passkeys.tsx";
import { leastPasswordLength } from "./password-hash.ts";
import { signup, signupQuota } from "./settings.ts";

const mostNameLength = 200;
const mostEmailLength = 254;

/** The invitation that a page was opened with goes along with its form and to the other page. */
const Invitation = ({ token }: { token: string | undefined }) => (token ? <input type="hidden" name="invitation" value={token} /> : null);
const withInvitation = (path: string, token: string | undefined) => (token ? `${path}?invitation=${encodeURIComponent(token)}` : path);

function signInPage(c: ConsoleContext, token: string | undefined, problem?: string, status: 200 | 401 | 429 = 200) {
  const say = c.get("say");
  return page(
    c,
    say("sign_in"),
    <div class="narrow">
      {c.req.query("done") === "reset" && <p role="status">{say("reset_done")}</p>}
      <form method="post" action="/console/sign-in">
        <Problem text={problem} />
        <Invitation token={token} />
        <label>
          {say("email")}
          <input type="email" name="email" autocomplete="username" required />
        </label>
        <label>
          {say("password")}
          <input type="password" name="password" autocomplete="current-password" required />
        </label>
        <button>{say("sign_in")}</button>
      </form>
      <PasskeyButton say={say} />
      <LoginButtons c={c} />
      <p>
        <a href="/console/forgot">{say("forgot_password")}</a>
      </p>
      {(Boolean(token) || signup(c.env) === "open") && (
        <p>
          {say("no_account_yet")} <a href={withInvitation("/console/sign-up", token)}>{say("sign_up")}</a>
        </p>
      )}
    </div>,
    status,
  );
}

interface SignUp {
  token?: string | undefined;
  /** The invited person's address: no other one may use the invitation. */
  email?: string | undefined;
  problem?: string;
  status?: 200 | 400 | 429;
}

function signUpPage(c: ConsoleContext, { token, email, problem, status = 200 }: SignUp) {
  const say = c.get("say");
  return page(
    c,
    say("sign_up"),
    <form method="post" class="narrow">
      <Problem text={problem} />
      <Invitation token={token} />
      <label>
        {say("name")}
        <input name="name" autocomplete="name" maxlength={mostNameLength} required />
      </label>
      <label>
        {say("email")}
        <input
          type="email"
          name="email"
          autocomplete="username"
          maxlength={mostEmailLength}
          value={email}
          readonly={email !== undefined}
          required
        />
      </label>
      <NewPassword label={say("password")} />
      <button>{say("sign_up")}</button>
      <p>
        {say("have_account")} <a href={withInvitation("/console/sign-in", token)}>{say("sign_in")}</a>
      </p>
    </form>,
    status,
  );
}

/** Who may sign up: everybody where that is open, whoever was invited unless it is closed. null says that this one may not. */
async function guestOf(c: ConsoleContext, token: string | undefined): Promise<{ token?: string; email?: string } | null> {
  const mode = signup(c.env);
  if (mode === "closed") return null;
  const account = token ? await invitedTo(c.env.DB, token) : undefined;
  if (account) return { token: token!, email: account.email };
  if (mode !== "open") return null;
  signupQuota(c.env); // a wrong one is found before the person exists
  return {};
}

const closed = (c: ConsoleContext) => page(c, c.get("say")("sign_up"), <p>{c.get("say")("sign_up_closed")}</p>, 403);

type Answered = { user: Person };

export const signIn = new Hono<ConsoleEnvironment>()
  .get("/sign-in", (c) => {
    const problem = loginProblem(c);
    return signInPage(c, c.req.query("invitation"), problem, problem === undefined ? 200 : 401);
  })
  .post("/sign-in", async (c) => {
    const field = await fieldsOf(c);
    const token = field("invitation");
    const answer = await askAuth(c, "/sign-in/email", { email: field("email"), password: field("password") });
    if (answer.ok) {
      if (token) await acceptInvitation(c.env.DB, (await answer.clone().json<Answered>()).user, token);
      return follow(c, answer, "/console");
    }
    const isTooMany = answer.status === 429;
    return signInPage(c, token, c.get("say")(isTooMany ? "too_many_attempts" : "wrong_credentials"), isTooMany ? 429 : 401);
  })
  .get("/sign-up", async (c) => {
    const guest = await guestOf(c, c.req.query("invitation"));
    return guest ? signUpPage(c, guest) : closed(c);
  })
  .post("/sign-up", async (c) => {
    const say = c.get("say");
    const field = await fieldsOf(c);
    const guest = await guestOf(c, field("invitation"));
    if (!guest) return closed(c);
    const email = guest.email ?? field("email");
    const name = field("name");
    const isShort = name !== "" && name.length <= mostNameLength && email.length <= mostEmailLength;
    const answer = isShort && (await askAuth(c, "/sign-up/email", { name, email, password: field("password") }));
    if (!answer || !answer.ok)
      return answer && answer.status === 429
        ? signUpPage(c, { ...guest, problem: say("too_many_attempts"), status: 429 })
        : signUpPage(c, { ...guest, problem: say("sign_up_failed", { minimum: leastPasswordLength }), status: 400 });
    const { user } = await answer.clone().json<Answered>();
    if (guest.token) await acceptInvitation(c.env.DB, user, guest.token);
    else await openAccount(c.env, user);
    return follow(c, answer, "/console");
  })
  .post("/sign-out", async (c) => follow(c, await askAuth(c, "/sign-out", {}), "/console/sign-in"));
