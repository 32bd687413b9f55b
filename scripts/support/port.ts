/** Local ports. */

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { errorCode } from "./faults.ts";

/** The address of every listener: only reachable from this machine. */
export const host = "127.0.0.1";

// Below the ports that a system gives to connections and to programs that ask for any. While a killed gateway is down, another program could
// get a port of those, and a client that tries it could be connected to itself.
const lowestPort = 20_000;
const highestPort = 29_999;
const attempts = 20;

/** Returns the port if it is free, or any free one for 0. Otherwise another program's server could be mistaken for ours. */
export async function claimPort(port: number): Promise<number> {
  if (port !== 0) {
    if (await isFree(port)) return port;
    throw new Error(`Port ${port} is in use. Set PORT to another one.`);
  }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const any = randomInt(lowestPort, highestPort + 1);
    if (await isFree(any)) return any;
  }
  throw new Error(`No free port between ${lowestPort} and ${highestPort}.`);
}

/** Starts a server on any free port, and returns its address: host and port. */
export async function listen(server: Server): Promise<string> {
  await once(server.listen(0, host), "listening");
  return `${host}:${(server.address() as AddressInfo).port}`;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done, fail) => {
    server.once("error", (error: unknown) => (errorCode(error) === "EADDRINUSE" ? done(false) : fail(error)));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}
