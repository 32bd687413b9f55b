/** The pages to sign in and up, and signing out. */

import { Hono } from "hono";
import { authPath, leastPasswordLength } from "./auth.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf, page } from "./frame.tsx";
import { Problem } from "./layout.tsx";
import { openAccount } from "./members.ts";

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

function signInPage(c: ConsoleContext, problem?: string, status: 200 | 401 | 429 = 200) {
  const say = c.get("say");
  return page(
    c,
    say("sign_in"),
    <form method="post" class="narrow">
      <Problem text={problem} />
      <label>
        {say("email")}
        <input type="email" name="email" autocomplete="username" required />
      </label>
      <label>
        {say("password")}
        <input type="password" name="password" autocomplete="current-password" required />
      </label>
      <button>{say("sign_in")}</button>
      {c.env.SIGNUP === "open" && (
        <p>
          {say("no_account_yet")} <a href="/console/sign-up">{say("sign_up")}</a>
        </p>
      )}
    </form>,
    status,
  );
}

function signUpPage(c: ConsoleContext, problem?: string, status: 200 | 400 | 429 = 200) {
  const say = c.get("say");
  return page(
    c,
    say("sign_up"),
    <form method="post" class="narrow">
      <Problem text={problem} />
      <label>
        {say("name")}
        <input name="name" autocomplete="name" maxlength={200} required />
      </label>
      <label>
        {say("email")}
        <input type="email" name="email" autocomplete="username" maxlength={254} required />
      </label>
      <label>
        {say("password")}
        <input type="password" name="password" autocomplete="new-password" minlength={leastPasswordLength} maxlength={200} required />
      </label>
      <button>{say("sign_up")}</button>
      <p>
        {say("have_account")} <a href="/console/sign-in">{say("sign_in")}</a>
      </p>
    </form>,
    status,
  );
}

export const signIn = new Hono<ConsoleEnvironment>()
  .get("/sign-in", (c) => signInPage(c))
  .post("/sign-in", async (c) => {
    const field = await fieldsOf(c);
    const answer = await forward(c, "/sign-in/email", { email: field("email"), password: field("password") });
    if (answer.ok) return follow(c, answer, "/console");
    const isTooMany = answer.status === 429;
    return signInPage(c, c.get("say")(isTooMany ? "too_many_attempts" : "wrong_credentials"), isTooMany ? 429 : 401);
  })
  .get("/sign-up", (c) =>
    c.env.SIGNUP === "open" ? signUpPage(c) : page(c, c.get("say")("sign_up"), <p>{c.get("say")("sign_up_closed")}</p>, 403),
  )
  .post("/sign-up", async (c) => {
    const say = c.get("say");
    if (c.env.SIGNUP !== "open") return page(c, say("sign_up"), <p>{say("sign_up_closed")}</p>, 403);
    const field = await fieldsOf(c);
    const answer = await forward(c, "/sign-up/email", { name: field("name"), email: field("email"), password: field("password") });
    if (!answer.ok)
      return answer.status === 429
        ? signUpPage(c, say("too_many_attempts"), 429)
        : signUpPage(c, say("sign_up_failed", { minimum: leastPasswordLength }), 400);
    const { user } = await answer.clone().json<{ user: { id: string; email: string; name: string } }>();
    await openAccount(c.env.DB, user, Math.round(Number(c.env.SIGNUP_QUOTA) * 1e6));
    return follow(c, answer, "/console");
  })
  .post("/sign-out", async (c) => follow(c, await forward(c, "/sign-out", {}), "/console/sign-in"));
