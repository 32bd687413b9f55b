/** Sends outgoing requests to the network directly: the simulator puts a Worker of its own between each Worker and the network, which the platform does not have. */

/// <reference types="@cloudflare/workers-types" />

import { env } from "cloudflare:workers";

/** Replaces `fetch`, if there is a binding NETWORK. */
export function useNetwork(): void {
  const network = (env as { NETWORK?: Fetcher }).NETWORK;
  if (network) globalThis.fetch = (...request) => network.fetch(...request);
}
