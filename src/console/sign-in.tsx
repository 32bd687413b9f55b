/** The pages to sign in and up, and signing out. */

import { Hono } from "hono";
import { authPath, leastPasswordLength } from "./auth.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page } from "./frame.tsx";
import { Problem } from "./layout.tsx";
import { acceptInvitation, invitedTo, openAccount } from "./members.ts";

/** Asks better-auth's own endpoint, so that attempts are counted by address. */
const forward = (c: ConsoleContext, path: string, body: object) => {
  const { origin } = new URL(c.req.url);
  const headers = new Headers({ "content-type": "application/json", origin });
  for (const name of ["cookie", "cf-connecting-ip", "user-agent"]) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return c.get("auth").handler(new Request(`${origin}${authPath}${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
};

/** On to a page with the cookies that better-auth set. */
function follow(c: ConsoleContext, answer: Response, to: string): Response {
  for (const cookie of answer.headers.getSetCookie()) c.header("set-cookie", cookie, { append: true });
  return c.redirect(to, 303);
}

/** The invitation that a page was opened with goes along with its form and to the other page. */
const Invitation = ({ token }: { token: string | undefined }) => (token ? <input type="hidden" name="invitation" value={token} /> : null);
const withInvitation = (path: string, token: string | undefined) => (token ? `${path}?invitation=${encodeURIComponent(token)}` : path);

function signInPage(c: ConsoleContext, token: string | undefined, problem?: string, status: 200 | 401 | 429 = 200) {
  const say = c.get("say");
  return page(
    c,
    say("sign_in"),
    <form method="post" class="narrow">
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
      {(Boolean(token) || c.env.SIGNUP === "open") && (
        <p>
          {say("no_account_yet")} <a href={withInvitation("/console/sign-up", token)}>{say("sign_up")}</a>
        </p>
      )}
    </form>,
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
        <input name="name" autocomplete="name" maxlength={200} required />
      </label>
      <label>
        {say("email")}
        <input type="email" name="email" autocomplete="username" maxlength={254} value={email} readonly={email !== undefined} required />
      </label>
      <label>
        {say("password")}
        <input type="password" name="password" autocomplete="new-password" minlength={leastPasswordLength} maxlength={200} required />
      </label>
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
  if (c.env.SIGNUP === "closed") return null;
  const account = token ? await invitedTo(c.env.DB, token) : undefined;
  if (account) return { token: token!, email: account.email };
  return c.env.SIGNUP === "open" ? {} : null;
}

const closed = (c: ConsoleContext) => page(c, c.get("say")("sign_up"), <p>{c.get("say")("sign_up_closed")}</p>, 403);

type Answered = { user: { id: string; email: string; name: string } };

export const signIn = new Hono<ConsoleEnvironment>()
  .get("/sign-in", (c) => signInPage(c, c.req.query("invitation")))
  .post("/sign-in", async (c) => {
    const field = await fieldsOf(c);
    const token = field("invitation");
    const answer = await forward(c, "/sign-in/email", { email: field("email"), password: field("password") });
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
    const answer = await forward(c, "/sign-up/email", { name: field("name"), email, password: field("password") });
    if (!answer.ok)
      return answer.status === 429
        ? signUpPage(c, { ...guest, problem: say("too_many_attempts"), status: 429 })
        : signUpPage(c, { ...guest, problem: say("sign_up_failed", { minimum: leastPasswordLength }), status: 400 });
    const { user } = await answer.clone().json<Answered>();
    if (guest.token) await acceptInvitation(c.env.DB, user, guest.token);
    else await openAccount(c.env.DB, user, Math.round(Number(c.env.SIGNUP_QUOTA) * 1e6));
    return follow(c, answer, "/console");
  })
  .post("/sign-out", async (c) => follow(c, await forward(c, "/sign-out", {}), "/console/sign-in"));
