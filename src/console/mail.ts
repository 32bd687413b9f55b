/** E-mail to users: by Cloudflare's send-email binding; in local development it is printed instead. */

import { alert } from "../base/log.ts";
import { type Letter, mailPage } from "./mail-page.ts";
import { type MailBindings, mailSender } from "./settings.ts";

export interface Email extends Letter {
  to: string;
  language: string;
}

/** Sends an e-mail. Faults are logged without its content, and not reported to the client, which may be unknown. */
export type Post = (email: Email) => Promise<void>;

/** E-mails with a link of one kind that any number of clients may cause to one address within an hour. */
export const mailsToOne = { window: 3600, max: 5 };

const developersMachines = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** True if e-mail is really delivered, so that new users can be asked to verify their address. */
export const reachesPeople = (env: MailBindings): boolean => mailSender(env) !== undefined;

/** Sends an e-mail if the operator has set up sending. Throws if it is not accepted. */
export async function send(env: MailBindings, email: Email): Promise<void> {
  const sender = mailSender(env);
  const { to, subject, text, language } = email;
  await sender?.binding.send({ from: sender.from, to, subject, text, html: await mailPage(email, language) });
}

/** The function that sends e-mail for the host of this origin; undefined if e-mail cannot be sent. */
export function buildPost(env: MailBindings, origin: string): Post | undefined {
  if (reachesPeople(env))
    return async (email) => {
      try {
        await send(env, email);
      } catch (error) {
        const { code } = error as { code?: string };
        alert("mail", { outcome: "not_sent", code });
      }
    };
  if (!developersMachines.has(new URL(origin).hostname)) return undefined;
  return async ({ to, subject, text }) => console.log(`\nE-mail to ${to}: ${subject}\n\n${text}\n`);
}

/** The same for the host of a page. */
export const postOf = ({ env, req }: { env: MailBindings; req: { url: string } }): Post | undefined =>
  buildPost(env, new URL(req.url).origin);
