/** The gateway's log for a person at a terminal: one short line for each request and each step of a task, in place of the runtime's two. */

import { stripVTControlCharacters, styleText } from "node:util";
import { parseJson } from "./faults.ts";

type Line = Record<string, string | number | boolean | undefined>;

const shownId = 16;
const toTime = (at: Date) => at.toTimeString().slice(0, 8);
const chooseColour = (status: number) => (status < 400 ? "green" : status < 500 ? "yellow" : "red");
const calm = new Set(["ok", "accepted", "completed", "running", "delivered"]);

/** What is left of an id that can be searched for in the console. */
const cut = (id: string) => (id.length > shownId ? `${id.slice(0, shownId)}…` : id);

/** A line of wrangler's output; undefined for its own lines about requests and batches of the queue, of which the gateway's lines say more. */
export const ownLine = (text: string): string | undefined =>
  /^\[wrangler:info\] (?:QUEUE|[A-Z]+ \/)/.test(stripVTControlCharacters(text)) ? undefined : text;

/** The same as one short line. One that is not the gateway's is returned as it is, an empty one left out. */
export function shortLine(text: string, at = new Date()): string | undefined {
  const plain = stripVTControlCharacters(text).trim();
  const [, json] = /^(?:\[[\w-]+\]|✘ \[ERROR\]) (\{"unit":.*\})$/.exec(plain) ?? [];
  const line = json === undefined ? undefined : (parseJson(json) as Line | undefined);
  if (!line) return plain === "" ? undefined : ownLine(text);
  const { unit, path, status, outcome, step, model, provider, task, ms, charged, error } = line;
  const words: (string | undefined)[] = [styleText("gray", toTime(at))];
  if (path !== undefined) words.push(String(path), styleText(chooseColour(Number(status)), String(status)));
  else words.push(styleText("cyan", String(step ?? unit)), provider?.toString());
  if (outcome !== "ok") words.push(calm.has(String(outcome)) ? String(outcome) : styleText("yellow", String(outcome)));
  if (unit === "settle" && charged !== undefined) words.push(`charged ${Number(charged) / 1e6}`);
  words.push(model?.toString());
  if (ms !== undefined) words.push(styleText("gray", `${ms} ms`));
  if (task !== undefined) words.push(styleText("gray", cut(String(task))));
  if (error !== undefined) words.push(`\n         ${styleText("red", String(error))}`);
  return words.filter(Boolean).join(" ");
}
