/** Shared by the emulated upstreams: directives in prompts, broken connections, and a record of their calls. */

/** Thrown by an emulator: the connection breaks without an answer. */
export class Dropped extends Error {
  override readonly name = "Dropped";
}

const obeyed = new Map<string, number>();

/**
 * Returns true if the prompt has this directive: `[word]` always applies, `[word 2]` to the first two calls with this prompt.
 * Directives of all emulators, where their API has such a case: `limit` (429 with Retry-After 1), `wallet` (no funds), `retired` (the model
 * is gone), `broken` (500), `unavailable` (503), `moderated` (refused at submission), `moderated-later`, `fails` (later, its own fault),
 * `drop` (accepted, then the connection breaks), `queued` and `running` (polls with this status), `truncated` and `expired` (its files).
 */
export function hasDirective(prompt: string, word: string): boolean {
  const match = new RegExp(`\\[${word}(?: (\\d+))?\\]`).exec(prompt);
  if (!match) return false;
  if (match[1] === undefined) return true;
  const key = `${word}\n${prompt}`;
  const times = obeyed.get(key) ?? 0;
  obeyed.set(key, times + 1);
  return times < Number(match[1]);
}

/** One call that an emulator accepted, by a name of ours: `start`, `poll`, `file`, `cancel`, ... */
export interface Entry {
  upstream: string;
  call: string;
  prompt: string;
  /** The request, if tests read it. */
  body?: unknown;
}

/** A call of a callback URL, as an upstream sends it. */
export interface Call {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** How work that a maker has accepted ended, by which the maker bills. It ends also if nobody asks for its result. */
export interface End {
  upstream: string;
  prompt: string;
  end: "made" | "failed" | "cancelled";
  /** How long stopped work had run, where the maker bills that. */
  seconds?: number;
}

const ends = new Map<string, End>();

/** Work was accepted, or has ended otherwise. */
export const setEnd = (id: string, end: End): void => void ends.set(id, end);

/** The ends of work with prompts that contain this. */
export const endsOf = (match: string): End[] => [...ends.values()].filter(({ prompt }) => prompt.includes(match));

const book: Entry[] = [];

export const record = (entry: Entry): void => void book.push(entry);

/** The calls with prompts that contain this. */
export const recorded = (match: string): Entry[] => book.filter(({ prompt }) => prompt.includes(match));
