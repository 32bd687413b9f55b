/** E-mails about signing in: links, and notices of changes that someone else may have made. */

import { countAttempt } from "../../db/attempts.ts";
import { buildPost, mailsToOne } from "../mail.ts";
import words from "../messages/auth-mail.ts";
import signIn from "../messages/sign-in.ts";
import type { AuthSettings } from "./contract.ts";

/** Who gets an e-mail. */
interface Addressee {
  email: string;
  name: string;
  emailVerified: boolean;
}

/** What a user gets an e-mail about, because someone else may have done it; `known`: signed up with the user's address. */
export type Notice = "password" | "passkey" | "address" | "known";

/** The functions that send e-mail; undefined if e-mail cannot be sent. */
export function buildMail(env: AuthEnv, { origin, language }: AuthSettings) {
  const post = buildPost(env, origin);
  if (!post) return undefined;
  const text = words[language];
  const isFew = (kind: string, email: string) => countAttempt(env.DB, `${kind} ${email}`, mailsToOne);
  return {
    /** `url` is better-auth's link. Its `callbackURL`, if it is a page of this host, opens next. */
    sendLink: async (kind: "reset" | "confirm", { email, name, emailVerified }: Addressee, token: string, url?: string) => {
      // An e-mail above the limit is not sent, without an error: the answer must not reveal that the address is known.
      if (!(await isFew(kind, email))) return;
      const next = (url && new URL(url).searchParams.get("callbackURL")) || "/";
      const to = next.startsWith(`${origin}/`) ? `&to=${encodeURIComponent(next.slice(origin.length))}` : "";
      const link = `${origin}/console/${kind}?token=${encodeURIComponent(token)}${to}`;
      // Whoever signs up with another person's address, or changes to it, must not choose words of the e-mail that the other one gets.
      const greets = kind === "reset" && emailVerified && name;
      const greeting = greets ? `${signIn[language].mail_greeting.replace("{name}", () => name)}\n\n` : "";
      const body = greeting + text[`mail_${kind}`].replace("{link}", () => link);
      await post({ to: email, language, subject: text[`mail_${kind}_subject`], text: body });
    },
    /**
     * Says that a way to sign in was set: to the address as it was before. Not to one that was never verified, because it may be another
     * person's; but `known` is for whoever reads the address.
     */
    sendNotice: async (kind: Notice, { email, emailVerified }: Pick<Addressee, "email" | "emailVerified">) => {
      // Counted apart: signing up again and again must not use up the notices of what matters.
      const isKnown = kind === "known";
      if (!(isKnown || emailVerified) || !(await isFew(isKnown ? "known" : "notice", email))) return;
      const isReset = isKnown || kind === "password";
      const link = `${origin}/console/${isReset ? "forgot" : "account"}`;
      const values: Record<string, string> = { email, host: new URL(origin).host, link };
      const body = text[`mail_${kind}`].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
      const action = isReset ? text.mail_reset_subject : signIn[language].mail_open;
      await post({ to: email, language, subject: text[`mail_${kind}_subject`], text: body, action });
    },
  };
}
