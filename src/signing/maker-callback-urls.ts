/** Signs and verifies the URLs that providers call when their work on a task has ended: one for each task and provider. */

import { allowsCallbacks, signingSecret } from "../config.ts";
import { checkReceiverUrl } from "../net/public-url.ts";
import { isTextSigned, signText } from "./hmac.ts";

// The signed text of an asset's URL begins with its path in the bucket, so neither signature is valid for the other.
const signedText = (provider: string, taskId: string) => `callback\n${provider}\n${taskId}`;

/**
 * The URL for the provider of a task, below the gateway's base URL. undefined if that is not a public https address, which a provider could
 * not call, or if the operator has switched callbacks off. A repeated start gets the same URL.
 */
export async function toCallbackUrl(env: Env, base: string, provider: string, taskId: string): Promise<string | undefined> {
  if (!allowsCallbacks(env) || !(checkReceiverUrl(base, { allowPrivate: false, ownHosts: [] }) instanceof URL)) return undefined;
  return `${base}/callbacks/${provider}/${taskId}/${await signText(signingSecret(env), signedText(provider, taskId))}`;
}

/** True if the gateway signed the URL of this provider and task. */
export const isCallbackUrl = (env: Env, provider: string, taskId: string, signature: string): Promise<boolean> =>
  isTextSigned(env, signedText(provider, taskId), signature);
