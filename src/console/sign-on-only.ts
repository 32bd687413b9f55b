/** Where users sign in with the OpenID provider alone: refuses the pages and forms of every other way to sign in. The auth Worker refuses their endpoints, too. */

import type { MiddlewareHandler } from "hono";
import type { ConsoleEnvironment } from "./context.ts";
import { page } from "./frame.tsx";
import { isSignOnOnly } from "./settings.ts";

const ownPages = /^\/console\/(sign-up|forgot|reset)$/;
const ownForms =
  /^\/console\/(sign-in|sign-up|forgot|reset|passkeys(\/.*)?|login\/(?!oidc$).*|account\/(password|email|passkeys(\/.*)?|logins\/.*))$/;

export const signOnOnly: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  const isGet = c.req.method === "GET" || c.req.method === "HEAD";
  if (!(isGet ? ownPages : ownForms).test(c.req.path) || !isSignOnOnly(c.env)) return next();
  const invitation = c.req.query("invitation");
  if (isGet) return c.redirect(`/console/sign-in${invitation ? `?invitation=${encodeURIComponent(invitation)}` : ""}`, 303);
  return page(c, c.var.t("sign_in"), null, 403, { lead: c.var.t("sign_on_only") });
};
