/**
 * An OpenID provider on this machine for tests of single sign-on: npm's `oidc-provider`, in front of it a server that signs users in without
 * pages, and, for one whose token is forged, signs another ID token with the provider's key.
 */

import { generateKeyPairSync, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Provider } from "oidc-provider";
import type { TestProject } from "vitest/node";
import { listen } from "../../scripts/support/port.ts";

/** A user at the provider. Tests send it as the cookie `user` of the provider, as JSON in Base64. */
export interface ProviderUser {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: string[];
  /** Claims that replace those of the ID token after it was made. */
  forged?: Record<string, unknown>;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The provider's issuer. */
    openid: string;
  }
}

const kid = "test";
const encode = (text: string) => Buffer.from(text).toString("base64url");
const decode = (text: string) => Buffer.from(text, "base64url").toString();

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" };
  const users = new Map<string, ProviderUser>();
  const server = createServer();
  const issuer = `http://${await listen(server)}`;
  const origin = "https://gateway.example";
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "gateway",
        client_secret: "secret-of-the-gateway-at-the-provider",
        token_endpoint_auth_method: "client_secret_post",
        redirect_uris: [`${origin}/console/auth/callback/oidc`],
        post_logout_redirect_uris: [`${origin}/console/sign-in`],
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ["a secret of the provider's cookies"] },
    claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    // The client must send a challenge.
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...users.get(sub), sub }) }),
  });
  const serve = provider.callback();
  const signIn = async (request: IncomingMessage, response: ServerResponse) => {
    const sent = /user=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
    const user = JSON.parse(decode(sent)) as ProviderUser;
    users.set(user.sub, user);
    const grant = new provider.Grant({ accountId: user.sub, clientId: "gateway" });
    grant.addOIDCScope("openid profile email");
    const result = { login: { accountId: user.sub }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
  /** Replaces the ID token of an answer. */
  const forge = (body: string): string => {
    const answer = JSON.parse(body) as { id_token?: string };
    const claims = JSON.parse(decode(answer.id_token?.split(".")[1] ?? encode("{}"))) as { sub?: string };
    const forged = users.get(claims.sub ?? "")?.forged;
    if (!forged) return body;
    const signed = [
      { alg: "RS256", kid },
      { ...claims, ...forged },
    ]
      .map((part) => encode(JSON.stringify(part)))
      .join(".");
    const signature = sign("sha256", Buffer.from(signed), privateKey).toString("base64url");
    return JSON.stringify({ ...answer, id_token: `${signed}.${signature}` });
  };
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/interaction/")) return void signIn(request, response);
    if (request.url === "/token") {
      const end = response.end.bind(response) as (text: string) => ServerResponse;
      response.end = ((chunk: Buffer | string) => {
        response.removeHeader("content-length");
        return end(forge(String(chunk)));
      }) as typeof response.end;
    }
    return void serve(request, response);
  });
  provide("openid", issuer);
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
