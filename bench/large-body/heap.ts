/** The memory of an isolate, measured by workerd's inspector: workerd itself limits only the heap, not the buffers. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const MiB = 1024 * 1024;
const stepMs = 5;

/** The inspector's values, in bytes. */
interface HeapUsage {
  usedSize: number;
  embedderHeapUsedSize: number;
  backingStorageSize: number;
}

/** The peak memory of an isolate during `work`, in MiB: objects and buffers, uncollected garbage included. */
export async function heapDuring<T>(inspectorUrl: string, work: () => Promise<T>): Promise<{ result: T; maxMiB: number }> {
  const open = async () => {
    const opened = new WebSocket(inspectorUrl);
    await once(opened, "open");
    return { socket: opened, closed: once(opened, "close").then(() => undefined) };
  };
  let { socket, closed } = await open();
  let maxBytes = 0;
  const over = new AbortController();
  const watch = async () => {
    for (let id = 1; !over.signal.aborted; id++, await sleep(stepMs)) {
      // workerd sometimes closes the connection while the isolate is busy.
      if (socket.readyState !== WebSocket.OPEN) ({ socket, closed } = await open());
      const answer = Promise.race([once(socket, "message"), closed]);
      socket.send(JSON.stringify({ id, method: "Runtime.getHeapUsage" }));
      const [message] = (await answer) ?? [];
      if (message === undefined) continue;
      const { result } = JSON.parse((message as { data: string }).data) as { result?: HeapUsage };
      // Events of the inspector arrive between its answers.
      if (result) maxBytes = Math.max(maxBytes, result.usedSize + result.embedderHeapUsedSize + result.backingStorageSize);
    }
  };
  const watched = watch();
  const result = await work().finally(() => over.abort());
  await watched;
  socket.close();
  return { result, maxMiB: Math.round(maxBytes / MiB) };
}
