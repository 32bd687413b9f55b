/** Writes a stream's text to its caller: at once, or in a busy isolate together with what follows. */

import type { ChatCaller } from "./caller.ts";

/**
 * The time between two writes of a stream in a busy isolate, about a frame of a screen: a write costs the runtime as much as reading a chunk
 * does. Otherwise text is written at once.
 */
const gatherMs = 16;
/** An isolate is busy if more texts than that came within that time, for all its streams together. */
const busyTexts = 64;
/** Characters that wait for a slow caller before the upstream is read no further. */
const maxHeld = 64 * 1024;

/** The texts of the isolate's streams in the current time of gathering, and whether it was busy in the one before. */
const load = { since: 0, texts: 0, wasBusy: false };

function countText(): void {
  const now = Date.now();
  const passed = now - load.since;
  // Less than 0: the clock was set back.
  if (passed < 0 || passed >= gatherMs) {
    load.wasBusy = load.texts > busyTexts && passed >= 0 && passed < 2 * gatherMs;
    load.texts = 0;
    load.since = now;
  }
  load.texts++;
}

/** Opens a sender that writes to `writer`: at once, or together with what comes while a write runs or the isolate is busy. At most one write runs at a time. */
export function openSender(writer: WritableStreamDefaultWriter<Uint8Array>, caller: Pick<ChatCaller, "isGone" | "hangUp">) {
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
  /** Writes now or with the next text. After a running write, `end` plans the next. */
  const plan = () => {
    if (writing) return;
    const isBusy = load.wasBusy || load.texts > busyTexts;
    if (!isBusy || Date.now() - writtenAt >= gatherMs || held.length > maxHeld) write();
    else timer ??= setTimeout(write, gatherMs);
  };
  /** Writes everything that waits. The promise resolves when it is written, or the caller has disconnected. */
  const flush = (): Promise<void> | undefined => {
    write();
    return writing?.then(flush);
  };
  return {
    flush,
    /** Sends text. If too much is waiting for the caller, returns a promise for the end of the running write, which resolves if it fails too. */
    add(text: string): Promise<void> | undefined {
      if (text === "" || caller.isGone()) return undefined;
      held += text;
      countText();
      plan();
      return held.length > maxHeld ? writing : undefined;
    },
  };
}
