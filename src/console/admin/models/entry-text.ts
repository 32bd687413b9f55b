/** The text of a model's entry: how it is printed, on which line a field stands, and what differs between two entries. Pure. */

import { structuredPatch } from "diff";
import { findNodeAtLocation, type Node, parse, type ParseError, parseTree } from "jsonc-parser";

/** An entry as JSON has it: an admin may have written anything. */
export type ShownEntry = Record<string, unknown>;

/** The order in which the fields of an entry, and those of its prices and routes, are printed; others follow. */
const fieldOrder = ["id", "kind", "title", "aliases", "body", "price", "typical_seconds", "deadline_seconds", "state", "routes"];
const innerOrder = [
  "image",
  "hd_x",
  "second",
  "1080p_x",
  "character",
  "input",
  "cached_input",
  "output",
  "provider",
  "model",
  "settings",
  "cost",
  "bills_failures",
  "first_without_images",
  "retires",
];

/** What is shorter stands on one line; a difference is shown in a narrower place. */
const maxLineLength = 84;
const maxDiffLength = 30;

const inOrder = (value: object, order: string[]) => {
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(value).sort(([a], [b]) => rank(a) - rank(b));
};

/** JSON on one line, with a space after each comma. */
function onOneLine(value: unknown, order: string[]): string {
  if (Array.isArray(value)) return `[${value.map((one) => onOneLine(one, innerOrder)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = inOrder(value, order).map(([name, one]) => `${JSON.stringify(name)}: ${onOneLine(one, innerOrder)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

function print(value: unknown, indent: string, order: string[], width: number): string {
  const line = onOneLine(value, order);
  const isShort = indent !== "" && indent.length + line.length <= width;
  if (isShort || typeof value !== "object" || value === null) return line;
  const deeper = `${indent}  `;
  if (Array.isArray(value))
    return value.length === 0 ? "[]" : `[\n${value.map((one) => deeper + print(one, deeper, innerOrder, width)).join(",\n")}\n${indent}]`;
  const fields = inOrder(value, order).map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${print(one, deeper, innerOrder, width)}`);
  return fields.length === 0 ? "{}" : `{\n${fields.join(",\n")}\n${indent}}`;
}

/** An entry as JSON, its fields in the order of the documentation. */
export const formatEntry = (entry: ShownEntry, width = maxLineLength): string => print(entry, "", fieldOrder, width);

/** A text that is not the JSON of an object: the line where it breaks, and the rest of that line. */
export interface SyntaxProblem {
  line: number;
  text: string;
}

const toLine = (text: string, offset: number) => text.slice(0, offset).split("\n").length;

/** The entry of a text, or where the text is wrong. */
export function parseEntry(text: string): ShownEntry | SyntaxProblem {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  const offset = first?.offset ?? 0;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!first && isObject) return value as ShownEntry;
  const [rest = ""] = text.slice(offset).split("\n", 1);
  return { line: toLine(text, offset), text: rest.trim().slice(0, 60) };
}

export const isSyntaxProblem = (value: ShownEntry | SyntaxProblem): value is SyntaxProblem => typeof value["line"] === "number";

/** `routes[1].provider` -> `["routes", 1, "provider"]` */
const toPath = (param: string) => [...param.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, at]) => (at === undefined ? name : Number(at)));

/** The line of a field, counted from 1, and its value if it is no object; that of the next outer field that exists. */
export function locate(text: string, param: string): { line: number; value?: string } {
  const tree = parseTree(text);
  const path = toPath(param);
  if (!tree) return { line: 1 };
  for (let length = path.length; length > 0; length--) {
    const found: Node | undefined = findNodeAtLocation(tree, path.slice(0, length));
    if (!found) continue;
    const isPlain = length === path.length && found.type !== "object" && found.type !== "array";
    return { line: toLine(text, found.offset), ...(isPlain && { value: String(found.value) }) };
  }
  return { line: 1 };
}

/** A line of a difference; `gap` stands for equal lines that are left out. */
export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
}

const kinds = { " ": "same", "+": "added", "-": "removed" } as const;

/** The lines that differ between two entries, with an equal one on each side; empty if they are the same. */
export function diffEntries(before: ShownEntry, after: ShownEntry): DiffLine[] {
  const printed = (entry: ShownEntry) => `${formatEntry(entry, maxDiffLength)}\n`;
  const { hunks } = structuredPatch("", "", printed(before), printed(after), "", "", { context: 1 });
  return hunks.flatMap(({ lines }, at) => [
    ...(at > 0 ? [{ kind: "gap", text: "…" } as const] : []),
    ...lines.flatMap((line): DiffLine[] => {
      const kind = kinds[line[0] as keyof typeof kinds];
      return (kind as string | undefined) === undefined ? [] : [{ kind, text: line.slice(1) }];
    }),
  ]);
}

/** A field that differs between two entries, as text; undefined where an entry lacks it. */
export interface FieldChange {
  field: string;
  was: string | undefined;
  is: string | undefined;
}

/** Fields by path; a route is one field, named by its provider, so that moving it is no change of all others. */
function flatten(entry: ShownEntry): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [name, value] of Object.entries(entry)) {
    if (name === "id") continue;
    if (name === "routes" && Array.isArray(value))
      for (const route of value as { provider?: unknown; model?: unknown }[])
        flat.set(
          `routes ${String(route.provider)}`,
          [flat.get(`routes ${String(route.provider)}`), String(route.model)].filter(Boolean).join(", "),
        );
    else if (name === "price" && typeof value === "object" && value !== null)
      for (const [unit, amount] of Object.entries(value)) flat.set(`price.${unit}`, onOneLine(amount, []));
    else flat.set(name, typeof value === "string" ? value : onOneLine(value, []));
  }
  return flat;
}

/** What changed between two entries, shortly: for a list of revisions. */
export function listChanges(before: ShownEntry, after: ShownEntry): FieldChange[] {
  const [was, is] = [flatten(before), flatten(after)];
  const changed = [...new Set([...was.keys(), ...is.keys()])]
    .map((field) => ({ field, was: was.get(field), is: is.get(field) }))
    .filter((change) => change.was !== change.is);
  const isSame = changed.length === 0 && formatEntry(before) !== formatEntry(after);
  return isSame ? [{ field: "routes", was: undefined, is: undefined }] : changed;
}
