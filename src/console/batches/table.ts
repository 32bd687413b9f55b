/** A table (CSV) as the lines of a batch: one line a row, columns are fields of the request. Pure. */

import Papa from "papaparse";
import { type Choice, toRequest } from "../playground/choices.ts";
import type { Field } from "../playground/fields.ts";

/** Columns that are not fields of a request. */
const ownColumns = ["custom_id", "id", "model"];
/** Options of a submission, which are not fields of a model. */
const options = ["callback_url", "reference", "max_cost"];

/** What is wrong with a table as a whole, with the columns that it may have. */
export type TableProblem = { is: "empty" | "no_model" } | { is: "unknown_columns"; columns: string[]; allowed: string[] };

/**
 * The lines of a table, as JSON each. The first row names the columns: `custom_id` (or `id`; the row's number without one), `model`
 * (`fallback` without one), and fields as in the API, `style` for `metadata.style` too. Empty cells are left out. What a cell may contain is
 * checked with the lines.
 */
export function toLines(text: string, choices: Choice[], fallback: string): string[] | TableProblem {
  const [head = [], ...rows] = Papa.parse<string[]>(text.replace(/^\uFEFF/, ""), { skipEmptyLines: "greedy" }).data;
  const columns = head.map((name) => name.trim());
  if (rows.length === 0) return { is: "empty" };
  if (!columns.includes("model") && fallback === "") return { is: "no_model" };
  const usable = choices.filter(({ action }) => action !== "chat");
  const allowed = [...new Set([...ownColumns, ...usable.flatMap(({ fields }) => fields.map(({ name }) => name)), ...options])];
  const names = new Set([...allowed, ...usable.flatMap(({ fields }) => fields.map(({ key }) => key))]);
  const unknown = columns.filter((name) => !names.has(name));
  if (unknown.length > 0) return { is: "unknown_columns", columns: unknown.map((name) => name || "–"), allowed };
  return rows.map((row, at) => {
    const cells = new Map(columns.map((name, column) => [name, (row[column] ?? "").trim()] as const).filter(([, cell]) => cell !== ""));
    return JSON.stringify(toLine(cells, usable, fallback, at + 1));
  });
}

function toLine(cells: ReadonlyMap<string, string>, choices: Choice[], fallback: string, number: number) {
  const model = cells.get("model") ?? fallback;
  const id = cells.get("custom_id") ?? cells.get("id") ?? `row-${number}`;
  const action = cells.has("video_id") ? "remix" : cells.has("url") || cells.has("from_task") ? "character" : undefined;
  const own = choices.filter((choice) => choice.model === model || choice.aliases.includes(model));
  const choice = own.find((one) => one.action === action) ?? own[0];
  const body: Record<string, unknown> = {};
  for (const [name, cell] of cells) {
    if (ownColumns.includes(name)) continue;
    const field = choice?.fields.find((one) => one.name === name) ?? choice?.fields.find((one) => one.key === name);
    const value = toValue(field, name, cell);
    if (field?.group === undefined) body[field?.key ?? name] = value;
    else body[field.group] = { ...(body[field.group] as object | undefined), [field.key]: value };
  }
  if (!choice) return { custom_id: id, endpoint: "/v1/images/generations", body: { ...body, model } };
  const { path, body: sent } = toRequest({ ...choice, model }, body);
  return { custom_id: id, endpoint: path, body: sent };
}

/** The value of a cell. Text that its field does not accept stays text, because the check reports it best. */
function toValue(field: Field | undefined, name: string, cell: string): unknown {
  if (name === "max_cost") return toNumber(cell);
  switch (field?.as) {
    case "flag":
      return /^(true|yes|1)$/i.test(cell) ? true : /^(false|no|0)$/i.test(cell) ? false : cell;
    case "number":
      return toNumber(cell);
    case "choice":
      return field.options.find((option) => String(option) === cell) ?? cell;
    case "images":
      return cell.split(/\s+/);
    case "roles":
    case "messages":
    case "json":
      return toJson(cell);
    default:
      return cell;
  }
}

const toNumber = (cell: string) => (Number.isFinite(Number(cell)) ? Number(cell) : cell);

function toJson(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}
