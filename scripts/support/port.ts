/** Ports of this machine. */

import { createServer } from "node:net";
import { errorCode } from "./error-code.ts";

/** Where everything listens: never beyond this machine. */
export const host = "127.0.0.1";

/** The port itself when it is free, or any free one for 0. Somebody else's server would otherwise be taken for ours. */
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
