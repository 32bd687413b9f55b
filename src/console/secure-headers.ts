/** Security headers of every page: allowed sources, framing, referrer. */

import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { configuredLogins } from "./auth/logins.ts";
import { assetBaseUrl, singleSignOn } from "./settings.ts";

/** The hosts to which login buttons redirect: browsers apply the policy to redirects after a form, too. */
const loginOrigins = { github: "https://github.com", google: "https://accounts.google.com" };

/** Where forms of the Billing page go on. */
const stripeOrigins = ["https://checkout.stripe.com", "https://billing.stripe.com"];

/**
 * Allows only our own host and the operator's host for assets, no inline scripts and no frames. Served files have the headers too, because
 * an SVG may be opened as a page.
 */
export const protectiveHeaders: MiddlewareHandler<{ Bindings: ConsoleEnv }> = async (c, next) => {
  const assets = assetBaseUrl(c.env);
  const signOn = singleSignOn(c.env);
  const assetOrigins = assets === undefined ? [] : [new URL(assets).origin];
  const protect = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      connectSrc: ["'self'"],
      styleSrc: ["'self'"],
      fontSrc: ["'self'"],
      // `blob:` is for an image that a user has just chosen, `data:` for one in a conversation.
      imgSrc: ["'self'", "blob:", "data:", ...assetOrigins],
      mediaSrc: ["'self'", ...assetOrigins],
      formAction: [
        "'self'",
        ...configuredLogins(c.env).map((login) => loginOrigins[login]),
        ...(signOn ? [new URL(signOn.issuer).origin] : []),
        ...(c.req.path === "/console/billing" || c.req.path.startsWith("/console/billing/") ? stripeOrigins : []),
      ],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: "DENY",
    // Our own pages read the referrer.
    referrerPolicy: "same-origin",
    // The operator owns the host, and decides whether all of it uses HTTPS.
    strictTransportSecurity: false,
  });
  await protect(c, next);
  // Such an image runs nothing, and the page that a browser makes around one that is opened alone has inline styles.
  if (/^image\/(?!svg)/.test(c.res.headers.get("content-type") ?? "")) c.res.headers.delete("content-security-policy");
};
