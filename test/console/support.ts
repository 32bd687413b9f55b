/** A browser without script: pages, forms, cookies. Its requests go to the gateway, which forwards to the console as in a deployment. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { answerCalls } from "../../src/console/auth/calls.ts";
import { mailBudget, mailLowBalance, mailTopUp } from "../../src/console/letters.ts";
import { pages } from "../../src/console/pages.tsx";
import { accountByEmail } from "../../src/db/accounts.ts";
import gateway from "../../src/worker.ts";
import { type Account, asAdmin } from "../support/gateway.ts";
import { toEnv, type Vars } from "../support/models.ts";

const origin = "https://gateway.example";

type Form = Record<string, string> | FormData | ReadableStream<Uint8Array> | string;

const isPlain = (form: Form): form is Record<string, string> =>
  typeof form !== "string" && !(form instanceof FormData) && !(form instanceof ReadableStream);

export class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #vars: Partial<ConsoleEnv>;
  readonly #gatewayVars: Vars;

  /** `vars` are variables of the console, `gatewayVars` of the gateway, for this browser's requests. */
  constructor(vars: Partial<ConsoleEnv> = {}, gatewayVars: Vars = {}) {
    this.#vars = vars;
    this.#gatewayVars = gatewayVars;
  }

  /** Sends a request unchanged. */
  async #send(request: Request): Promise<Response> {
    const ctx = createExecutionContext();
    const { DB } = toEnv(this.#gatewayVars);
    const mails: Promise<unknown>[] = [];
    const AUTH = answerCalls({ ...env, ...this.#vars }, (work) => mails.push(work));
    const CONSOLE: Env["CONSOLE"] = {
      open: async (asked, api, receive) =>
        pages.fetch(asked, { ...env, DB, ...this.#vars, AUTH, API: api, ...(receive && { RECEIVE: receive }) }, ctx),
      mailBudget: (reached) => mailBudget({ ...env, ...this.#vars }, reached),
      mailLowBalance: (low) => mailLowBalance({ ...env, ...this.#vars }, low),
      mailTopUp: (pause) => mailTopUp({ ...env, ...this.#vars }, pause),
    };
    const answer = await gateway.fetch(request, { ...toEnv({ ...this.#gatewayVars, CONSOLE }), DB }, ctx);
    // Sent after the answer.
    await Promise.allSettled(mails);
    return answer;
  }

  /** Requests a page or sends a form (JSON if it is a string) from origin `from`. Redirects are not followed. */
  async ask(
    path: string,
    form?: Form,
    from: string | null = origin,
    headers: Record<string, string> = {},
    method = form === undefined ? "GET" : "POST",
  ): Promise<Response> {
    const request = new Request(origin + path, {
      method,
      headers: {
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        "cf-connecting-ip": this.address,
        ...(form && from !== null && { origin: from }),
        ...(typeof form === "string" && { "content-type": "application/json" }),
        ...(form && isPlain(form) && { "content-type": "application/x-www-form-urlencoded" }),
        ...headers,
      },
      ...(form && { body: isPlain(form) ? new URLSearchParams(form).toString() : form }),
      redirect: "manual",
    });
    const response = await this.#send(request);
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (/max-age=0/i.test(line)) this.#cookies.delete(pair.slice(0, at));
      else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  /** The text of a page. */
  async read(path: string): Promise<string> {
    return (await this.ask(path)).text();
  }

  /** Signs up as a new user and returns the e-mail address. Where e-mail is sent, there is no session before the link in it is opened. */
  async signUp(password = "correct horse battery"): Promise<string> {
    const email = `person-${crypto.randomUUID()}@example.com`;
    const response = await this.ask("/console/sign-up", { name: "A <b>person</b>", email, password });
    if (response.status !== (this.#vars.MAIL ? 200 : 303)) throw new Error(`${response.status} ${await response.text()}`);
    return email;
  }

  /** Sign-in attempts are counted per network: each browser has an address of its own. */
  readonly address = `2001:db8:${crypto.randomUUID().slice(0, 4)}:${crypto.randomUUID().slice(0, 4)}::1`;

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }
}

/** A new user in a browser of these variables. */
export async function signedUp(...vars: ConstructorParameters<typeof Browser>) {
  const browser = new Browser(...vars);
  return { browser, email: await browser.signUp() };
}

/** A new user, who has signed up, and an API key of the account. `add` is added to the balance of a new account. */
export async function person(browser = new Browser(), add = 0) {
  const email = await browser.signUp();
  const { id } = (await accountByEmail(env.DB, email))!;
  if (add) await asAdmin(`/accounts/${id}`, { method: "PATCH", body: { add } });
  const { body } = await asAdmin(`/accounts/${id}/keys`, { body: { name: "A <program>", quota: null } });
  const account: Account = { id, key: body.key, keyId: body.id };
  return { browser, email, ...account, account };
}

/** A new user of an account that operates the gateway. */
export async function operator() {
  const made = await person();
  await asAdmin(`/accounts/${made.id}`, { method: "PATCH", body: { admin: true } });
  return made;
}

export interface Email {
  from: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** Collects the e-mails that a console with these variables sends. */
export function mailbox(): { emails: Email[]; vars: { MAIL: SendEmail; MAIL_FROM: string } } {
  const emails: Email[] = [];
  const MAIL = { send: async (sent: Email) => (emails.push(sent), { messageId: "1" }) } as unknown as SendEmail;
  return { emails, vars: { MAIL, MAIL_FROM: "gateway@example.com" } };
}

/** The ways of the refused sign-ins in the audit log of this user's account, in alphabetical order. */
export async function refusedSignIns(email: string): Promise<unknown[]> {
  const { results } = await env.DB.prepare(
    `SELECT after ->> 'login' AS login FROM audit_log JOIN auth_user u ON u.id = target
     WHERE act = 'sign_in_failed' AND actor = 'system' AND address LIKE '2001:db8:%' AND u.email = ?1 ORDER BY login`,
  )
    .bind(email)
    .run<{ login: string }>();
  return results.map(({ login }) => login);
}

/** The text of a page without its menus. */
export const words = (html: string) => (html.split("<main")[1] ?? "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

/** The key that a page shows. */
export const secretIn = (text: string) => /sk-[0-9A-Za-z]{49}/.exec(text)![0];

/** The ids of the tasks that a page lists. */
export const shown = (text: string) => [...text.matchAll(/<li id="(task_[\w-]+)"/g)].map((match) => match[1]);
