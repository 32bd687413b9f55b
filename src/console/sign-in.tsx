/** The pages to sign in and sign up, and signing out. */

import type { ConsoleContext, ConsoleEnvironment } from "./context.ts";
import * as z from "zod/mini";
import { readAnswer } from "./answers.ts";
import { Hono } from "hono";
import { LoginButtons, loginProblem } from "./account/logins.tsx";
import { PasskeyButton } from "./account/passkeys.tsx";
import { askAuth, follow } from "./ask-auth.ts";
import { actor, page } from "./frame.tsx";
import { acceptInvitation, type Invited, invitedTo, openAccount, type Person, userByEmail } from "./members.ts";
import { reachesPeople } from "./mail.ts";
import type { Translate } from "./messages.ts";
import { Button, type FieldProblem, FieldProblems, NewPassword, Note, Problem, TextField } from "./parts/index.ts";
import { maxPasswordLength, minPasswordLength, unconfirmed } from "./auth/logins.ts";
import { readForm } from "./forms.ts";
import { countVisit } from "./request-limits.ts";
import { pageOfConsole, withReturn } from "./return-to.ts";
import { claimsIn } from "./recover.tsx";
import { isSignOnOnly, signup, signupQuota } from "./settings.ts";
import type { PageStatus } from "./page-status.ts";

const maxNameLength = 200;
const maxEmailLength = 254;

/** Parameters passed from page to page during sign-in and sign-up. */
interface Along {
  /** The token of an invitation. */
  invitation?: string | undefined;
  /** The page that was requested. */
  to?: string | undefined;
}

const Kept = ({ invitation, to }: Along) => (
  <>
    {invitation && <input type="hidden" name="invitation" value={invitation} />}
    {to && <input type="hidden" name="to" value={to} />}
  </>
);

/** The page on which a signed-in user accepts an invitation to be a member. */
const joinPath = (invitation: string) => `/console/join?invitation=${encodeURIComponent(invitation)}`;

const withAlong = (path: string, { invitation, to }: Along) =>
  withReturn(invitation ? `${path}?invitation=${encodeURIComponent(invitation)}` : path, to);

interface SignInState extends Along {
  email?: string;
  problem?: string | undefined;
  /** True if the password is wrong. */
  isWrong?: boolean;
  /** True if the browser still had the cookie of a session that is over. */
  hasEnded?: boolean;
}

function signInPage(c: ConsoleContext, state: SignInState, status: PageStatus = 200) {
  const { t } = c.var;
  const { email, problem, isWrong, hasEnded, to } = state;
  if (isSignOnOnly(c.env))
    return page(
      c,
      t("sign_in"),
      <>
        <Problem text={problem} />
        {hasEnded && <Note tone="warn">{t("your_session_ended")}</Note>}
        <LoginButtons c={c} to={to} />
      </>,
      status,
      { lead: t("sign_on_only") },
    );
  const canSignUp = Boolean(state.invitation) || signup(c.env) === "open";
  const lead = canSignUp ? (
    <>
      {t("no_account_yet")} <a href={withAlong("/console/sign-up", state)}>{t("sign_up")}</a>
    </>
  ) : (
    t(signup(c.env) === "invite" ? "sign_up_by_invitation" : "sign_up_closed")
  );
  return page(
    c,
    t("sign_in"),
    <>
      <Problem text={problem} />
      {hasEnded && <Note tone="warn">{t("your_session_ended")}</Note>}
      <PasskeyButton t={t} to={to} />
      <LoginButtons c={c} to={to} />
      <form method="post" action="/console/sign-in" class="stack">
        <Kept {...state} />
        <TextField
          name="email"
          type="email"
          label={t("email")}
          autocomplete="username"
          value={email}
          autofocus={email === undefined}
          required
        />
        <TextField
          name="password"
          type="password"
          label={t("password")}
          autocomplete="current-password"
          required
          aria-invalid={isWrong ? "true" : undefined}
          beside={
            <a class="push meta link" href="/console/forgot">
              {t("forgot_password")}
            </a>
          }
        />
        <Button class="btn primary full" text={t("sign_in")} />
      </form>
    </>,
    status,
    { lead, toast: c.req.query("done") === "reset" ? t("reset_done") : undefined },
  );
}

interface SignUpState extends Along {
  /** The invited user's address: no other may use the invitation. */
  invited?: string | undefined;
  typed?: { name: string; email: string };
  problem?: string;
  problems?: FieldProblem[];
}

const SignInInstead = ({ t, along }: { t: Translate; along: Along }) => (
  <>
    {t("have_account")} <a href={withAlong("/console/sign-in", along)}>{t("sign_in")}</a>
  </>
);

function signUpPage(c: ConsoleContext, state: SignUpState, status: PageStatus = 200) {
  const { t } = c.var;
  const { invited, typed, problem, problems = [] } = state;
  const findError = (name: string) => problems.find(({ field }) => field === name)?.text;
  return page(
    c,
    t("sign_up"),
    <form method="post" action="/console/sign-up" class="stack">
      <Problem text={problem} />
      <FieldProblems problems={problems} />
      <Kept {...state} />
      <TextField
        name="name"
        label={t("name")}
        autocomplete="name"
        maxlength={maxNameLength}
        value={typed?.name}
        error={findError("name")}
        required
      />
      <TextField
        name="email"
        type="email"
        label={t("email")}
        autocomplete="username"
        maxlength={maxEmailLength}
        value={invited ?? typed?.email}
        readonly={invited !== undefined}
        error={findError("email")}
        required
      />
      <NewPassword label={t("password")} error={findError("password")} />
      <Button class="btn primary full" text={t("sign_up")} />
    </form>,
    status,
    {
      lead: <SignInInstead t={t} along={state} />,
    },
  );
}

/** What a visitor's token invites to, or undefined. Throws `TooMany`. */
async function findInvited(c: ConsoleContext, token: string): Promise<Invited | undefined> {
  await countVisit(c);
  return invitedTo(c.env.DB, token);
}

/** Checks that this user may sign up: without an invitation where sign-up is open, with one unless it is closed. null if not. */
async function readGuest(
  c: ConsoleContext,
  token: string | undefined,
): Promise<{ invitation?: string; invited?: string; joins?: boolean } | null> {
  const mode = signup(c.env);
  if (mode === "closed") return null;
  const found = token ? await findInvited(c, token) : undefined;
  if (token && found)
    return { invitation: token, joins: found.member !== undefined, ...(found.email !== undefined && { invited: found.email }) };
  // With a link that does not work any more the user would open an account instead of joining one.
  if (mode !== "open" || token) return null;
  signupQuota(c.env); // a wrong invitation is detected before the user is created
  return {};
}

/** The reason why there is no form: sign-up is closed, needs an invitation, or the invitation cannot be used. */
function closed(c: ConsoleContext, token: string | undefined) {
  const { t } = c.var;
  const reason = signup(c.env) === "closed" ? "sign_up_closed" : token ? "join_unusable" : "sign_up_by_invitation";
  return page(
    c,
    t("sign_up"),
    <a class="btn full" href="/console/sign-in">
      {t("sign_in")}
    </a>,
    403,
    { lead: t(reason) },
  );
}

/** The errors of a sign-up form, before it is tried. */
function findFaults(c: ConsoleContext, { name, email }: { name: string; email: string }, password: string): FieldProblem[] {
  const { t } = c.var;
  const limits = { minimum: minPasswordLength, maximum: maxPasswordLength };
  return [
    (name === "" || name.length > maxNameLength) && { field: "name", label: t("name"), text: t("bad_name") },
    (email.length > maxEmailLength || !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) && {
      field: "email",
      label: t("email"),
      text: t("bad_email"),
    },
    (password.length < minPasswordLength || password.length > maxPasswordLength) && {
      field: "password",
      label: t("password"),
      text: t("bad_password_length", limits),
    },
  ].filter((fault) => fault !== false);
}

const signedUp = z.object({ user: z.looseObject({ id: z.string(), email: z.string(), emailVerified: z.boolean(), name: z.string() }) });

/** The link of a new user's e-mail in `to`, the page that was requested: its token, the address in it, and the page that opens next. */
function linkIn(c: ConsoleContext, to: string | undefined) {
  const { pathname, searchParams } = new URL(to ?? "", c.req.url);
  const token = searchParams.get("token") ?? "";
  const email = pathname === "/console/confirm" ? claimsIn(token).email : undefined;
  return { token, email, next: pageOfConsole(c, searchParams.get("to") ?? "") };
}

const askToSignIn = (c: ConsoleContext, email: string, password: string) => askAuth(c, "/sign-in/email", { email, password });

/**
 * Signs in with a password. If `to` is the link of a new user's e-mail, which leads here, it confirms the address first: link and password are
 * needed together. A refusal does not say which of them is wrong. `next` is the page that opens.
 */
async function signInWithLink(c: ConsoleContext, email: string, password: string, to: string | undefined) {
  const answer = await askToSignIn(c, email, password);
  const link = linkIn(c, to);
  if (link.email !== email.toLowerCase() || !(await needsConfirmation(answer))) return { answer, next: to };
  const verified = await askAuth(c, `/verify-email?token=${encodeURIComponent(link.token)}`);
  return { answer: verified.ok ? await askToSignIn(c, email, password) : answer, next: link.next };
}

const needsConfirmation = async (answer: Response): Promise<boolean> =>
  answer.status === 403 && (await answer.clone().json<{ code?: string }>()).code === unconfirmed;

/** The user with this address, if the answer to the sign-in says that the password was right. */
async function findUser(c: ConsoleContext, email: string, answer: Response): Promise<Person | undefined> {
  if (answer.ok) return (await readAnswer(signedUp, answer)).user;
  return (await needsConfirmation(answer)) ? userByEmail(c.env.DB, email) : undefined;
}

async function signUp(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const field = await readForm(c);
  const guest = await readGuest(c, field("invitation"));
  if (!guest) return closed(c, field("invitation"));
  const typed = { name: field("name"), email: guest.invited ?? field("email") };
  const state = { ...guest, to: pageOfConsole(c, field("to")), typed };
  const problems = findFaults(c, typed, field("password"));
  if (problems.length > 0) return signUpPage(c, { ...state, problems }, 400);
  // Where an e-mail is sent, its link goes on to what the invitation is for.
  const next = guest.invitation && guest.joins ? { callbackURL: new URL(joinPath(guest.invitation), c.req.url).href } : {};
  const answer = await askAuth(c, "/sign-up/email", { ...typed, password: field("password"), ...next });
  if (answer.status === 429) return signUpPage(c, { ...state, problem: t("too_many_attempts") }, 429);
  const unusable = () => signUpPage(c, { ...state, problems: [{ field: "email", label: t("email"), text: t("email_unusable") }] }, 400);
  const isByMail = reachesPeople(c.env);
  // Another request may have signed up with the address at the same time.
  const isTaken = isByMail && answer.status === 422 && (await userByEmail(c.env.DB, typed.email)) !== undefined;
  if (!answer.ok && !isTaken) return unusable();
  // The same for a known address, whose user gets another e-mail: a stranger must not find out who has an account.
  if (isByMail && (!guest.invitation || guest.joins))
    return page(c, t("confirm_address"), <p role="status">{t("confirm_sent", { email: typed.email })}</p>, 200, {
      lead: <SignInInstead t={t} along={state} />,
    });
  // An operator's invitation needs no e-mail: the operator has handed over its link.
  const signedIn = isByMail ? await askToSignIn(c, typed.email, field("password")) : answer;
  const user = await findUser(c, typed.email, signedIn);
  if (!user) return unusable();
  if (guest.invitation) await acceptInvitation(c.env, actor(c, user), user, guest.invitation);
  else await openAccount(c.env, user);
  // A new user's password opens the console only as a member's.
  return follow(c, signedIn.ok ? signedIn : await askToSignIn(c, typed.email, field("password")), state.to ?? "/console");
}

const signedOut = z.object({ url: z.optional(z.nullable(z.url())) });

export const signIn = new Hono<ConsoleEnvironment>()
  .get("/sign-in", async (c) => {
    const problem = loginProblem(c);
    const invitation = c.req.query("invitation");
    // Another login returns to the question whether to join; a form brings the invitation along itself.
    const joins = invitation ? (await findInvited(c, invitation))?.member : undefined;
    const to = pageOfConsole(c, c.req.query("to")) ?? (invitation && joins ? joinPath(invitation) : undefined);
    const { email } = linkIn(c, to);
    const state = { invitation, to, problem, hasEnded: c.req.query("ended") !== undefined, ...(email !== undefined && { email }) };
    return signInPage(c, state, problem === undefined ? 200 : 401);
  })
  .post("/sign-in", async (c) => {
    const field = await readForm(c);
    const [email, invitation, to] = [field("email"), field("invitation"), pageOfConsole(c, field("to"))];
    const { answer, next } = await signInWithLink(c, email, field("password"), to);
    if (answer.ok) {
      const joins = invitation ? (await invitedTo(c.env.DB, invitation))?.member : undefined;
      // Someone who signs in is asked before becoming a member of another account.
      if (joins) return follow(c, answer, joinPath(invitation));
      if (invitation) {
        const { user } = await readAnswer(signedUp, answer.clone());
        await acceptInvitation(c.env, actor(c, user), user, invitation);
      }
      return follow(c, answer, next ?? "/console");
    }
    const isTooMany = answer.status === 429;
    const problem = c.var.t(isTooMany ? "too_many_attempts" : reachesPeople(c.env) ? "wrong_or_late" : "wrong_credentials");
    return signInPage(c, { email, invitation, to, problem, isWrong: !isTooMany }, isTooMany ? 429 : 401);
  })
  .get("/sign-up", async (c) => {
    const guest = await readGuest(c, c.req.query("invitation"));
    if (!guest) return closed(c, c.req.query("invitation"));
    return signUpPage(c, { ...guest, to: pageOfConsole(c, c.req.query("to")) });
  })
  .post("/sign-up", signUp)
  .post("/sign-out", async (c) => {
    const { origin } = new URL(c.req.url);
    const answer = await askAuth(c, "/sign-out", { callbackURL: `${origin}/console/sign-in`, disableRedirect: true });
    // A user of the OpenID provider signs out there, too.
    const { url } = await readAnswer(signedOut, answer.clone());
    return follow(c, answer, url ?? "/console/sign-in");
  });
