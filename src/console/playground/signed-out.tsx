/** Handles a form that arrives after the session has ended: the typed values are restored after signing in. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { BadForm } from "../forms.ts";
import type { MiddlewareHandler } from "hono";
import { isScripted, person, SignedOut } from "../frame.tsx";
import { TooMany } from "../request-limits.ts";
import { withReturn } from "../return-to.ts";
import { readLargeForm } from "./images.ts";
import { unsent } from "./page.tsx";

/** Larger forms contain files, which are not read for visitors. */
const maxFormBytes = 256 * 1024;
/** A longer URL could be refused by browsers or proxies. */
const maxAddress = 6_000;

const notKept = new Set(["do", "key", "shown", "run", "kind"]);

/** The playground's URL with the values of a form; without them if they are too long. */
async function readAddress(c: ConsoleContext): Promise<string> {
  const path = "/console/playground";
  if (!(Number(c.req.header("content-length") ?? Infinity) <= maxFormBytes)) return path;
  const form = await readLargeForm(c.req.raw).catch((error: unknown) => (error instanceof BadForm ? undefined : Promise.reject(error)));
  if (!form) return path;
  const query = new URLSearchParams();
  for (const [name, [text = ""]] of form.typed) if (!notKept.has(name) && text !== "") query.set(name, text);
  const full = `${path}?${query}`;
  return full.length <= maxAddress ? full : `${path}?${new URLSearchParams({ model: query.get("model") ?? "" })}`;
}

/**
 * Admits signed-in users, like `person`. Visitors are redirected to the sign-in page, and from there back to their form. With script the
 * page stays with its files, and shows a message.
 */
export const keepTyped: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  let isAdmitted = false;
  try {
    await person(c, async () => {
      isAdmitted = true;
    });
  } catch (error) {
    if (!(error instanceof TooMany) || !isScripted(c)) throw error;
    return unsent(c, "bad", c.var.t("too_many_requests"));
  }
  return isAdmitted ? next() : answerVisitor(c);
};

async function answerVisitor(c: ConsoleContext): Promise<Response> {
  const signIn = withReturn("/console/sign-in", await readAddress(c));
  if (!isScripted(c)) return c.redirect(signIn, 303);
  c.header("hx-redirect", undefined);
  return unsent(c, "warn", <SignedOut t={c.var.t} signIn={signIn} />);
}
