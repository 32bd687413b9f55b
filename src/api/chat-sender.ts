/** Writes a streamed chat to its caller: at once, or a moment later together with what arrives next. */

/**
 * Minimum milliseconds between two writes, about a frame of a screen. A write costs the runtime as much as reading a chunk does, so chunks
 * that arrive faster share one: a chunk that comes sooner waits for the next, at most this long. Chunks that arrive more slowly are never delayed.
 */
const intervalMs = 16;
/** Characters that wait for a slow caller before the upstream is read no further. */
const maxHeld = 64 * 1024;

/** The state of the caller. */
interface Caller {
  isGone(): boolean;
  /** Called when a write fails. */
  hangUp(): void;
}

export interface ChatSender {
  /** Sends text. If too much is waiting for the caller, returns a promise for the end of the running write, which resolves if it fails too. */
  add(text: string): Promise<void> | undefined;
  /** Writes everything that waits. The promise resolves when it is written, or the caller has disconnected. */
  flush(): Promise<void> | undefined;
}

/** Opens a sender that writes to `writer`. At most one write runs at a time. */
export function openSender(writer: WritableStreamDefaultWriter<Uint8Array>, caller: Caller): ChatSender {
  const encoder = new TextEncoder();
  let held = "";
  let writing: Promise<void> | undefined;
  let writtenAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const end = () => {
    writing = undefined;
    if (held !== "") plan();
  };
  const write = () => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    if (writing || held === "" || caller.isGone()) return;
    const bytes = encoder.encode(held);
    held = "";
    writtenAt = Date.now();
    writing = writer.write(bytes).then(end, () => {
      caller.hangUp();
      held = "";
      end();
    });
  };
  /** Writes now or with the next chunk; in a steady stream the timer is never reached. After a running write, `end` plans the next. */
  const plan = () => {
    if (writing) return;
    if (Date.now() - writtenAt >= intervalMs || held.length > maxHeld) write();
    else timer ??= setTimeout(write, intervalMs);
  };
  const flush = (): Promise<void> | undefined => {
    write();
    return writing?.then(flush);
  };
  return {
    flush,
    add(text) {
      if (text === "" || caller.isGone()) return undefined;
      held += text;
      plan();
      return held.length > maxHeld ? writing : undefined;
    },
  };
}
