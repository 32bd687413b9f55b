/** Security headers of every page: allowed sources, framing, referrer. */

import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { configuredLogins } from "./auth.ts";
import { assetBaseUrl } from "./settings.ts";

/** The hosts to which login buttons redirect: browsers apply the policy to redirects after a form, too. */
const loginOrigins = { github: "https://github.com", google: "https://accounts.google.com" };

/**
 * Nothing from other hosts but the operator's own for assets, no script within pages, no frame. Served files have the headers,
 * too: a drawing may be opened as a page.
 */
export const protectiveHeaders: MiddlewareHandler<{ Bindings: ConsoleEnv }> = (c, next) => {
  const assets = assetBaseUrl(c.env);
  const assetOrigins = assets === undefined ? [] : [new URL(assets).origin];
  const protect = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      connectSrc: ["'self'"],
      styleSrc: ["'self'"],
      fontSrc: ["'self'"],
      // `blob:` is an image that a user has just chosen, `data:` one that is part of a conversation.
      imgSrc: ["'self'", "blob:", "data:", ...assetOrigins],
      mediaSrc: ["'self'", ...assetOrigins],
      formAction: ["'self'", ...configuredLogins(c.env).map((login) => loginOrigins[login])],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: "DENY",
    // Pages read where a person came from on this very host.
    referrerPolicy: "same-origin",
    // The host is the operator's, and so is the choice whether all of it speaks HTTPS.
    strictTransportSecurity: false,
  });
  return protect(c, next);
};
