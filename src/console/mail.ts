/** E-mail to people: by Cloudflare's send-email binding; on a developer's machine it is printed instead. */

import { alert } from "../log.ts";
import { mailSender } from "./settings.ts";

interface Letter {
  to: string;
  subject: string;
  text: string;
}

/** Sends a letter. What goes wrong is logged without the letter, and the sender never learns it: nor would a stranger. */
export type Post = (letter: Letter) => Promise<void>;

const developersMachines = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether e-mail really reaches people, so that a new person can be asked to prove their address. */
export const reachesPeople = (env: ConsoleEnv): boolean => mailSender(env) !== undefined;

/** How letters leave from the host of this origin; undefined where none can. */
export function postOf(env: ConsoleEnv, origin: string): Post | undefined {
  const from = mailSender(env);
  if (from !== undefined)
    return async (letter) => {
      try {
        await env.MAIL!.send({ from, ...letter });
      } catch (error) {
        const { code } = error as { code?: string };
        alert("mail", { outcome: "not_sent", code });
      }
    };
  if (!developersMachines.has(new URL(origin).hostname)) return undefined;
  return async ({ to, subject, text }) => console.log(`\nE-mail to ${to}: ${subject}\n\n${text}\n`);
}
