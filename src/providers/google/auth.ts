/** Access tokens of a service account (RFC 7523): a signed assertion is exchanged for a bearer token that is valid for an hour. */

import { ask, toFault, readJson } from "../shared/http.ts";
import { ProviderError } from "../provider.ts";

/** The used fields of the JSON key that Google's console issues. */
interface ServiceAccount {
  client_email: string;
  private_key: string;
  private_key_id?: string;
  token_uri?: string;
}

// The same values as in google-auth-library.
const tokenUri = "https://oauth2.googleapis.com/token";
const scope = "https://www.googleapis.com/auth/cloud-platform";
const assertionSeconds = 3600;
/** A token is not used in its last minute, because it must not expire during a request. */
const spareMs = 60_000;

/** Keyed by the text of the account's key. Contains tokens, not promises: in Workers a request cannot await another request's promise. */
const tokens = new Map<string, { token: string; until: number }>();

/**
 * Calls `send` with a token of the account, and again with a new one if the answer is 401, because the token may have been revoked. Throws
 * the errors of `send`, and an account fault if no token is issued.
 */
export async function withToken(account: string, send: (headers: { authorization: string }) => Promise<Response>): Promise<Response> {
  const first = await sendWith(account, send);
  if (first.status !== 401) return first;
  tokens.delete(account);
  await first.body?.cancel();
  return sendWith(account, send);
}

const sendWith = async (account: string, send: (headers: { authorization: string }) => Promise<Response>) =>
  send({ authorization: `Bearer ${await requestToken(account)}` });

async function requestToken(account: string): Promise<string> {
  const known = tokens.get(account);
  if (known && known.until > Date.now()) return known.token;
  const { token, seconds } = await freshToken(account);
  tokens.set(account, { token, until: Date.now() + seconds * 1000 - spareMs });
  return token;
}

/** Requests a token. After a fault here nothing was accepted, because the upstream itself was not called. */
async function freshToken(account: string): Promise<{ token: string; seconds: number }> {
  const { uri, assertion } = await signAssertion(account).catch(() => {
    // Thrown without the cause, which could contain the key.
    throw new ProviderError("account", "GOOGLE_SERVICE_ACCOUNT: its private_key cannot be used");
  });
  try {
    const body = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion });
    const response = await ask(globalThis, uri, { method: "POST", body });
    if (!response.ok) {
      await response.body?.cancel();
      const { message, retryable, retryAfterMs } = toFault(response, "token");
      throw new ProviderError(retryable ? "busy" : "account", message, { retryAfterMs });
    }
    const answer = await readJson<{ access_token?: string; expires_in?: number | string }>(response);
    if (!answer?.access_token) throw new ProviderError("unreachable", "token: the answer has no access_token");
    return { token: answer.access_token, seconds: Number(answer.expires_in ?? assertionSeconds) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const { message, account: isAccount, retryAfterMs, cause } = error;
    throw new ProviderError(isAccount ? "account" : "busy", message, { retryAfterMs, cause });
  }
}

async function signAssertion(account: string): Promise<{ uri: string; assertion: string }> {
  const { client_email, private_key, private_key_id, token_uri: uri = tokenUri } = JSON.parse(account) as ServiceAccount;
  const pkcs8 = Uint8Array.fromBase64(private_key.replace(/-----[A-Z ]+-----/g, ""));
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(private_key_id && { kid: private_key_id }) };
  const claims = { iss: client_email, scope, aud: uri, iat: now, exp: now + assertionSeconds };
  const signed = [header, claims].map((part) => base64url(new TextEncoder().encode(JSON.stringify(part)))).join(".");
  const signature = new Uint8Array(await crypto.subtle.sign(algorithm.name, key, new TextEncoder().encode(signed)));
  return { uri, assertion: `${signed}.${base64url(signature)}` };
}

const base64url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
