/** What the emulated upstreams share: orders in prompts, connections that break, a book of what they were asked. */

/** Thrown by an emulator: the connection breaks without an answer. */
export class Dropped extends Error {
  override readonly name = "Dropped";
}

const obeyed = new Map<string, number>();

/**
 * Whether a prompt orders this: `[word]` is obeyed always, `[word 2]` the first two times that this prompt is asked about it.
 * Words that all emulators know, where their API has such a thing: `limit` (429 with Retry-After 1), `wallet` (no money), `retired` (the model
 * is gone), `broken` (500), `unavailable` (503), `moderated` (refused at submission), `moderated-later`, `fails` (later, its own fault),
 * `drop` (accepted, then the connection breaks), `queued` and `running` (polls that find it so), `truncated` and `expired` (its files).
 */
export function isOrdered(prompt: string, word: string): boolean {
  const match = new RegExp(`\\[${word}(?: (\\d+))?\\]`).exec(prompt);
  if (!match) return false;
  if (match[1] === undefined) return true;
  const key = `${word}\n${prompt}`;
  const times = obeyed.get(key) ?? 0;
  obeyed.set(key, times + 1);
  return times < Number(match[1]);
}

/** One request that an emulator took, in words of its own: `start`, `poll`, `file`, `cancel`, ... */
export interface Entry {
  upstream: string;
  call: string;
  prompt: string;
  /** What was sent, where a test may look at it. */
  body?: unknown;
}

const book: Entry[] = [];

export const record = (entry: Entry): void => void book.push(entry);

/** What was asked about prompts that contain this. */
export const recorded = (match: string): Entry[] => book.filter(({ prompt }) => prompt.includes(match));
