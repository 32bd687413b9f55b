/** Preloaded into wrangler (`node import`): ends it when the process that holds its standard input ends, for any reason. */

import { Socket } from "node:net";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.stdin.on("end", () => process.kill(process.pid, "SIGTERM"));
  process.stdin.on("error", () => process.kill(process.pid, "SIGTERM"));
  process.stdin.resume();
  // Watching must not keep a finished command alive.
  if (process.stdin instanceof Socket) process.stdin.unref();
}
