/** Decides whether the gateway may fetch a URL that a caller gave. */

import { addressKind } from "./ip-address.ts";

export interface UrlRules {
  /** Allows private hosts and other ports, for a developer's machine. The scheme and userinfo rules always hold. */
  allowPrivate: boolean;
  /** The gateway's own hostnames without ports; fetching them is refused. */
  ownHosts: readonly string[];
}

/** The violated rule. `port` and `host` do not occur with `allowPrivate`. */
export type UrlProblem = "too_long" | "malformed" | "scheme" | "userinfo" | "port" | "host";

const MAX_URL_LENGTH = 8192;

// Names outside the public DNS: RFC 6761 and 6762 (with its appendix G), RFC 8375, ICANN's `.internal`.
const privateSuffixes = [
  ...["localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan"].map((label) => `.${label}`),
  ".home.arpa",
];

/**
 * Checks a URL: http or https, at most 8192 characters, no user name or password, the default ports, and a host that is a public IP
 * address or a full domain name that is neither reserved for private networks nor the gateway's own.
 *
 * A Worker cannot see what a name resolves to. The platform makes sure that no name leads into a private network: Workers reach only
 * public addresses.
 *
 * @returns the parsed URL, whose `href` must be used from here on instead of `text`; or the first violated rule.
 */
export function checkPublicUrl(text: string, rules: UrlRules): URL | { reason: UrlProblem } {
  if (text.length > MAX_URL_LENGTH) return { reason: "too_long" };
  const url = URL.parse(text);
  if (!url) return { reason: "malformed" };
  if (url.protocol !== "http:" && url.protocol !== "https:") return { reason: "scheme" };
  if (url.username || url.password) return { reason: "userinfo" };
  if (rules.allowPrivate) return url;
  if (url.port && url.port !== "80" && url.port !== "443") return { reason: "port" };
  return isPublicHost(url.hostname, rules.ownHosts) ? url : { reason: "host" };
}

/** The same for a receiver of callbacks, which must use https; http is allowed only on the developer's own machine. */
export function checkReceiverUrl(text: string, rules: UrlRules): URL | { reason: UrlProblem } {
  const url = checkPublicUrl(text, rules);
  if (!(url instanceof URL) || url.protocol === "https:") return url;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  return rules.allowPrivate && isLoopback ? url : { reason: "scheme" };
}

function isPublicHost(hostname: string, ownHosts: readonly string[]): boolean {
  // A trailing dot marks the root of the DNS: `localhost.` is `localhost`.
  const name = withoutDot(hostname);
  if (ownHosts.some((own) => withoutDot(own.toLowerCase()) === name)) return false;
  const kind = addressKind(name);
  if (kind !== "name") return kind === "public";
  const labels = name.split(".");
  if (labels.length < 2 || labels.includes("")) return false;
  // Top-level domains are letters or Punycode. A resolver might read anything else, such as `127.0.0.1..`, as an address.
  if (!/^(?:[a-z]{2,}|xn--[a-z0-9-]+)$/.test(labels.at(-1) ?? "")) return false;
  return !privateSuffixes.some((suffix) => name.endsWith(suffix));
}

const withoutDot = (hostname: string) => hostname.replace(/\.$/, "");
