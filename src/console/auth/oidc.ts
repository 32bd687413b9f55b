/** Single sign-on: the operator's OpenID provider for better-auth, and the claims of a user that count. */

import { genericOAuth } from "better-auth/plugins/generic-oauth";
import { alert } from "../../base/log.ts";
import { singleSignOn } from "../settings.ts";
import type { AuthSettings } from "./contract.ts";

/** What one call learns about its user. */
export interface Learned {
  /** The groups of the ID token; undefined before one was read. */
  groups?: string[];
  /** The user whose session began, or who set a new password by a link. */
  userId?: string;
  /** True if the address that signs in is that of a user who has not opened the link in the e-mail. */
  isUnconfirmed?: boolean;
  /** Who signs in, as a login's provider names the person. */
  said?: { login: string; id: string; email: string | undefined };
}

/** The endpoints of better-auth that use the provider. Others are answered without a look at its settings, which costs a request. */
export const usesProvider = (path: string): boolean => ["/sign-in/social", "/callback/oidc", "/sign-out"].includes(path);

/**
 * The plugin that signs users in with the provider: discovery, PKCE, state and nonce, and ID tokens that the provider's keys have signed for
 * this client. Everything about the user is read from the ID token.
 */
export function openProvider(settings: AuthSettings, learned: Learned) {
  const provider = singleSignOn(settings);
  if (!provider) return [];
  const { issuer, clientId, clientSecret, scopes } = provider;
  return [
    genericOAuth({
      config: [
        {
          providerId: "oidc",
          discoveryUrl: `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
          clientId,
          clientSecret,
          scopes,
          requireIdTokenVerification: true,
          getUserInfo: async ({ idToken }) => {
            const claims = readClaims(idToken);
            // The signature and the audience were checked, by what the discovery says: it must be the issuer that the operator has named.
            if (claims?.["iss"] !== issuer || typeof claims["sub"] !== "string") return null;
            const { sub, name } = claims;
            const email = typeof claims["email"] === "string" ? claims["email"] : undefined;
            learned.said = { login: "oidc", id: sub, email };
            const groups = readGroups(claims);
            if (!groups) return null;
            learned.groups = groups;
            return {
              sub,
              email,
              // A provider that says nothing manages the addresses itself. Entra says it in a claim of its own, which matters for guests.
              emailVerified: ["email_verified", "xms_edov"].every((claim) => isTrueOrAbsent(claims[claim])),
              name: typeof name === "string" ? name : "",
            };
          },
        },
      ],
    }),
  ];
}

const isTrueOrAbsent = (claim: unknown) => ([undefined, true, "true", 1, "1"] as unknown[]).includes(claim);

/** The claims of a token that was verified; undefined if there is no token. */
function readClaims(token: string | undefined): Record<string, unknown> | undefined {
  const part = token?.split(".")[1];
  if (part === undefined) return undefined;
  return JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" }))) as Record<string, unknown>;
}

/** The claim `groups`: a list, or one group as text. undefined if the provider has left it out because the list is too long: no role may be taken away then. */
function readGroups({ groups, _claim_names: elsewhere, hasgroups }: Record<string, unknown>): string[] | undefined {
  const isElsewhere = elsewhere !== null && typeof elsewhere === "object" && "groups" in elsewhere;
  if (groups === undefined && (isElsewhere || isTrueOrAbsent(hasgroups ?? false))) {
    alert("console", { outcome: "oidc_groups_left_out" });
    return undefined;
  }
  return [groups].flat().filter((group) => typeof group === "string");
}
