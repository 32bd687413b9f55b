/** Preloaded into wrangler (`node --import`): ends it when whoever holds its standard input is gone, however that came about. */

import { Socket } from "node:net";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.stdin.on("end", () => process.kill(process.pid, "SIGTERM"));
  process.stdin.on("error", () => process.kill(process.pid, "SIGTERM"));
  process.stdin.resume();
  // Watching is no reason to live on: a command that is done ends.
  if (process.stdin instanceof Socket) process.stdin.unref();
}
