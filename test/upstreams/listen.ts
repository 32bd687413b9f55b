/** The emulators on a local port, for clients that use HTTP directly. */

import { serve as serveNode } from "@hono/node-server";
import type { AddressInfo } from "node:net";
import { serve } from "./index.ts";

/** Listens on 127.0.0.1; port 0 is any free one. */
export async function listen(port = 0): Promise<{ origin: string; close: () => Promise<void> }> {
  let origin = "";
  const server = serveNode({ fetch: (request) => serve(request, origin), hostname: "127.0.0.1", port });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    close: () => new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve()))),
  };
}
