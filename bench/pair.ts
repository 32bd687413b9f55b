/** The gateway and the floor, both running and ready for load. */

import { join } from "node:path";
import { type Bundled, bundleGateway, type GatewayBundle } from "./build.ts";
import { bundle } from "../scripts/support/bundles.ts";
import { root } from "../scripts/support/wrangler.ts";
import type { Side } from "./comparison.ts";
import { floorCalls, gatewayBindings, gatewayCalls } from "./calls.ts";
import { type Call, Client } from "./load.ts";
import { startServer } from "./server.ts";

/** The bundled Workers. */
export interface Scripts {
  gateway: GatewayBundle;
  floor: Bundled;
}

/** Bundles both Workers. */
export async function bundleBoth(tempDir: string): Promise<Scripts> {
  const [gateway, floor] = await Promise.all([
    bundleGateway(root, tempDir),
    bundle("bench/wrangler.toml", "floor.ts", join(tempDir, "floor")),
  ]);
  return { gateway, floor: { configPath: "bench/wrangler.toml", script: floor } };
}

export interface Pair {
  /** The gateway with these requests. */
  own: (calls: Call[]) => Side;
  floor: (calls: Call[]) => Side;
  calls: Awaited<ReturnType<typeof gatewayCalls>>;
  floorCalls: Awaited<ReturnType<typeof floorCalls>>;
}

/** Runs the work with new servers, and stops them. Without `consumes` the messages of submissions are not delivered. */
export async function withPair<T>(tempDir: string, scripts: Scripts, consumes: boolean, work: (pair: Pair) => Promise<T>): Promise<T> {
  const stops: (() => unknown)[] = [];
  const start = async (bundled: Bundled, bindings: Record<string, string>) => {
    const server = await startServer(tempDir, { ...bundled, consumes, bindings });
    const client = new Client(server.url);
    stops.push(server.stop, () => client.close());
    return { server, client };
  };
  try {
    const gateway = await start(scripts.gateway, gatewayBindings);
    const floor = await start(scripts.floor, {});
    const calls = await gatewayCalls(gateway.client);
    return await work({
      own: (list) => ({ ...gateway, calls: list }),
      floor: (list) => ({ ...floor, calls: list }),
      calls,
      floorCalls: await floorCalls(floor.client, calls.headers),
    });
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}
