/** This gateway as the benchmarks of chats measure it, and the upstream that it calls. */

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { once } from "../../src/base/once.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { bundleGateway } from "../build.ts";
import { freshHeaders, gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { type Server, startServer } from "../server.ts";
import { makeTempDir } from "../temporary.ts";

const rateLimit = 999_999_999;
/** The gateway's name of the upstream's model. */
export const ownModel = "textA-1-mini";

// Its state is in memory if possible: the other gateways store nothing, and a disk's delays are not the platform's.
const memory = "/dev/shm";
export const tempDir = await makeTempDir(existsSync(memory) ? memory : undefined);
export const ownBundle = once(() => bundleGateway(root, tempDir, "bench/peers/gateway.ts"));

/** Starts the upstream of all gateways. */
export async function startUpstream(): Promise<{ url: string; stop: () => void }> {
  const child = fork(fileURLToPath(new URL("upstream.ts", import.meta.url)), { execArgv: ["--no-warnings"] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`the upstream did not start (exit code ${code})`)));
  });
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => child.disconnect() };
}

/** Starts the gateway with keys, metering, the log of requests, and rate limits, which are high enough for any load. `callers`: the headers of each of the `accounts`. */
export async function startOurs(upstream: string, accounts: number): Promise<{ server: Server; callers: Record<string, string>[] }> {
  const server = await startServer(tempDir, {
    ...(await ownBundle()),
    consumes: true,
    network: true,
    rateLimit,
    bindings: {
      ...gatewayBindings,
      RATE_LIMITS: "on",
      SUBMISSIONS_PER_MINUTE: String(rateLimit),
      ACCOUNT_SUBMISSIONS_PER_MINUTE: String(rateLimit),
      OPENAI_API_KEY: "bench",
      OPENAI_BASE_URL: upstream,
    },
  });
  const client = new Client(server.url);
  const callers: Record<string, string>[] = [];
  for (let at = 0; at < accounts; at++) callers.push(await freshHeaders(client, `bench-${at}@example.com`));
  client.close();
  return { server, callers };
}
