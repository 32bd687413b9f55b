/**
 * The patterns of JSON Schema: texts that match one, and matching. The time of a match grows with the text's length
 * and is never exponential: patterns come from callers, and a `RegExp` can be made to run for hours.
 */

import { Unmakeable } from "./schema.ts";

type Node =
  | { kind: "set"; test: (character: string) => boolean; samples: readonly string[] }
  | { kind: "sequence"; nodes: readonly Node[] }
  | { kind: "choice"; nodes: readonly Node[] }
  | { kind: "repeat"; node: Node; min: number; max: number }
  | { kind: "edge"; holds: (text: readonly string[], at: number) => boolean };

const MAX_PATTERN = 1000;
const MAX_REPEATS = 10_000;
const SAMPLES = Array.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_. @/:+,;!?#$%&()[]{}<>=*'\"\\^`|~éñ中あ한\t\n");

export class Pattern {
  readonly #root: Node;

  /** Throws `Unmakeable` for a pattern that is not a regular expression, or that has lookaround or backreferences. */
  constructor(source: string) {
    if (source.length > MAX_PATTERN) throw new Unmakeable(`a pattern is longer than ${MAX_PATTERN} characters`);
    // Unnecessary escapes such as \@ are common, and an error with the `u` flag.
    const flags = ["u", ""].find((flags) => isRegExp(source, flags));
    if (flags === undefined) throw new Unmakeable(`the pattern "${source.slice(0, 100)}" is not a regular expression`);
    this.#root = new Parser(source, flags).parse();
  }

  /** True if the text contains a match. */
  matches(text: string): boolean {
    const characters = Array.from(text);
    return findEnds(this.#root, characters, new Set(Array.from({ length: characters.length + 1 }, (_, at) => at))).size > 0;
  }

  /** A text that very probably matches (assertions inside the pattern are ignored), `extra` characters longer than the shortest. */
  sample(variation: number, extra: number): string {
    return write(this.#root, { variation, extra, left: MAX_REPEATS });
  }
}

/** The positions at which a match can end that began at one of `starts`. */
function findEnds(node: Node, text: readonly string[], starts: Set<number>): Set<number> {
  switch (node.kind) {
    case "set":
      return new Set([...starts].flatMap((at) => (text[at] !== undefined && node.test(text[at]) ? at + 1 : [])));
    case "edge":
      return new Set([...starts].filter((at) => node.holds(text, at)));
    case "sequence":
      return node.nodes.reduce((ends, part) => (ends.size > 0 ? findEnds(part, text, ends) : ends), starts);
    case "choice":
      return new Set(node.nodes.flatMap((part) => [...findEnds(part, text, starts)]));
    case "repeat": {
      let reached = starts;
      for (let times = 0; times < node.min && reached.size > 0; times++) {
        const next = findEnds(node.node, text, reached);
        if (next.size === reached.size && [...next].every((at) => reached.has(at))) break;
        reached = next;
      }
      const ends = new Set(reached);
      for (let times = node.min; times < node.max && reached.size > 0; times++) {
        reached = new Set([...findEnds(node.node, text, reached)].filter((at) => !ends.has(at)));
        for (const at of reached) ends.add(at);
      }
      return ends;
    }
  }
}

function write(node: Node, state: { variation: number; extra: number; left: number }): string {
  switch (node.kind) {
    case "set":
      return node.samples[state.variation % node.samples.length] ?? "";
    case "edge":
      return "";
    case "sequence":
      return node.nodes.map((part) => write(part, state)).join("");
    case "choice":
      return write(node.nodes[state.variation % node.nodes.length]!, state);
    case "repeat": {
      const more = Math.min(node.max - node.min, state.extra);
      state.extra -= more;
      let text = "";
      for (let times = 0; times < node.min + more; times++) {
        if (state.left-- <= 0) throw new Unmakeable("a pattern asks for a text that is too long");
        text += write(node.node, state);
      }
      return text;
    }
  }
}

const isWord = (character: string | undefined) => character !== undefined && /^\w$/.test(character);
const isBoundary = (text: readonly string[], at: number) => isWord(text[at - 1]) !== isWord(text[at]);

function isRegExp(source: string, flags: string): boolean {
  try {
    return Boolean(new RegExp(source, flags));
  } catch {
    return false;
  }
}

/** Parses a pattern that `RegExp` has accepted. */
class Parser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags;
  }

  parse(): Node {
    return this.#choice();
  }

  #choice(): Node {
    const first = this.#sequence();
    const nodes = [first];
    while (this.#take("|")) nodes.push(this.#sequence());
    return nodes.length === 1 ? first : { kind: "choice", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#source.length && !this.#sees(/[|)]/y)) nodes.push(this.#repeated(this.#atom()));
    return { kind: "sequence", nodes };
  }

  #repeated(node: Node): Node {
    const quantifier = this.#sees(/(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y);
    if (!quantifier) return node;
    this.#at += quantifier[0].length;
    const [, sign, from, comma, to] = quantifier;
    const min = sign ? Number(sign === "+") : Number(from);
    const max = sign ? (sign === "?" ? 1 : Infinity) : to ? Number(to) : comma ? Infinity : min;
    if (min > MAX_REPEATS) throw new Unmakeable("a pattern asks for a text that is too long");
    return { kind: "repeat", node, min, max };
  }

  #atom(): Node {
    if (this.#take("^")) return { kind: "edge", holds: (_, at) => at === 0 };
    if (this.#take("$")) return { kind: "edge", holds: (text, at) => at === text.length };
    if (this.#take("\\b")) return { kind: "edge", holds: isBoundary };
    if (this.#take("\\B")) return { kind: "edge", holds: (text, at) => !isBoundary(text, at) };
    const group = this.#sees(/\((?:\?:|\?<\w+>|(?!\?))/y);
    if (group) {
      this.#at += group[0].length;
      const inner = this.#choice();
      this.#take(")");
      return inner;
    }
    const one = this.#sees(
      /\[(?:\\[^]|[^\]\\])*\]|\\u\{[\da-fA-F]+\}|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\[pP]\{[^}]*\}|\\c[a-zA-Z]|\\[^1-9k]|[^(\\]/uy,
    );
    if (!one) throw new Unmakeable("a pattern has lookaround or backreferences, which the sandbox does not do");
    this.#at += one[0].length;
    return toSet(one[0], this.#flags);
  }

  #sees(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    return expression.exec(this.#source);
  }

  #take(text: string): boolean {
    const isThere = this.#source.startsWith(text, this.#at);
    if (isThere) this.#at += text.length;
    return isThere;
  }
}

/** A set of characters: tested on single characters, where `RegExp` is fast. */
function toSet(source: string, flags: string): Node {
  const whole = new RegExp(`^${source}$`, flags);
  const test = (character: string) => whole.test(character);
  const samples = SAMPLES.filter(test);
  for (let code = 0; samples.length === 0 && code <= 0x2ffff; code++)
    if (test(String.fromCodePoint(code))) samples.push(String.fromCodePoint(code));
  return { kind: "set", test, samples };
}
