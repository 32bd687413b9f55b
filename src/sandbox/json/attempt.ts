/** One attempt to make a value for a schema: resolved references, compiled patterns, and the remaining work budget. */

import { Pattern } from "./pattern.ts";
import { jsonSchema, type Schema, Unmakeable } from "./schema.ts";

const MAX_STEPS = 100_000;

export class Attempt {
  readonly #root: Schema;
  readonly #resolved = new Map<string, Schema>();
  readonly #patterns = new Map<string, Pattern>();
  #stepsLeft = MAX_STEPS;

  constructor(root: Schema) {
    this.#root = root;
  }

  /** Spends one unit of work. Throws `Unmakeable` when the budget is used up. */
  spend(steps = 1): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new Unmakeable("it is too large or too complex for the sandbox");
  }

  /** Resolves a reference into this schema. Throws `Unmakeable` if its target does not exist. */
  resolve(ref: string): Schema {
    const known = this.#resolved.get(ref);
    if (known) return known;
    const found = jsonSchema.safeParse(this.#lookUp(ref));
    if (!found.success) throw new Unmakeable(`the reference "${ref.slice(0, 100)}" does not lead to a schema inside it`);
    this.#resolved.set(ref, found.data);
    return found.data;
  }

  /** Throws `Unmakeable` for a pattern that the sandbox does not support. */
  pattern(source: string): Pattern {
    const pattern = this.#patterns.get(source) ?? new Pattern(source);
    this.#patterns.set(source, pattern);
    return pattern;
  }

  #lookUp(ref: string): unknown {
    const { $id: base } = this.#root as { $id?: unknown };
    const fragment = typeof base === "string" && ref.startsWith(base) ? ref.slice(base.length) || "#" : ref;
    if (fragment === "#") return this.#root;
    if (fragment.startsWith("#/")) return lookUpPointer(this.#root, fragment.slice(2));
    return fragment.startsWith("#") ? findAnchor(this.#root, fragment.slice(1)) : undefined;
  }
}

function lookUpPointer(root: unknown, pointer: string): unknown {
  let here = root;
  for (const part of pointer.split("/")) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function findAnchor(node: unknown, anchor: string): unknown {
  if (typeof node !== "object" || node === null) return undefined;
  if ("$anchor" in node && node.$anchor === anchor) return node;
  for (const child of Object.values(node)) {
    const found = findAnchor(child, anchor);
    if (found !== undefined) return found;
  }
  return undefined;
}
