/** Local ports. */

import { createServer } from "node:net";
import { errorCode } from "./faults.ts";

/** The address of every listener: only reachable from this machine. */
export const host = "127.0.0.1";

/** Returns the port if it is free, or any free one for 0. Otherwise another program's server could be mistaken for ours. */
export async function claimPort(port: number): Promise<number> {
  const server = createServer();
  return new Promise((done, fail) => {
    server.once("error", (error: unknown) =>
      fail(errorCode(error) === "EADDRINUSE" ? new Error(`Port ${port} is in use. Set PORT to another one.`) : error),
    );
    server.listen(port, host, () => {
      const address = server.address();
      const chosen = typeof address === "object" && address ? address.port : port;
      server.close(() => done(chosen));
    });
  });
}
