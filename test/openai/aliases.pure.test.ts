/** How model names are resolved. Contract, section 12. */

import { expect, test } from "vitest";
import { aliasNames, resolveModel } from "../../src/facades/openai/aliases.ts";

const env = (ALIASES?: unknown) => ({ ALIASES }) as OpenAiBindings;
const model = (name: string, ALIASES?: unknown) => resolveModel(env(ALIASES), name).model;

test("OpenAI's names resolve to the gateway's models, also with a date; other names are unchanged", () => {
  expect(["sora-2", "sora-2-pro", "dall-e-3", "gpt-4o", "gpt-5-mini", "sora-2-2025-10-06"].map((name) => model(name))).toEqual([
    "vidA-2",
    "vidA-2-pro",
    "imgB-4o-image",
    "textA-1",
    "textA-1-mini",
    "vidA-2",
  ]);
  expect(["vidA-2", "unknown", "constructor"].map((name) => model(name))).toEqual(["vidA-2", "unknown", "constructor"]);
});

test.each([
  ["gpt-5.5-mini", "textA-1-mini"],
  ["o4-mini", "textA-1-mini"],
  ["gpt-5-nano-2025-08-07", "textA-1-mini"],
  ["gpt-5.6-luna", "textA-1-mini"],
  ["gpt-5.6-terra", "textA-1"],
  ["gpt-4-turbo", "textA-1"],
  ["gpt-image-2.6", "imgB-4o-image"],
  ["gpt-image-1-mini", "imgB-4o-image"],
  // Names of the gateway's own models, names that have an alias, and names of no form.
  ["textA-1-mini", "textA-1-mini"],
  ["gpt-4o-mini", "textA-1-mini"],
  ["o3", "o3"],
  ["gpt-", "gpt-"],
])("by rule %s is %s", (name, expected) => {
  expect(model(name)).toBe(expected);
});

test("the operator changes, adds and removes rules; an alias comes before them", () => {
  const ALIASES = { "*-luna": "textA-1", "claude-*": "textA-1", "claude-*-haiku": "textA-1-mini", "gpt-*": "", "gpt-5.9": "" };
  expect(
    ["gpt-5.6-luna", "claude-5", "claude-5-haiku", "gpt-6", "gpt-6-mini", "gpt-5", "gpt-5.9"].map((name) => model(name, ALIASES)),
  ).toEqual(["textA-1", "textA-1", "textA-1-mini", "gpt-6", "textA-1-mini", "textA-1", "gpt-5.9"]);
  expect(aliasNames(env(ALIASES)).filter((name) => name.includes("*"))).toEqual([]);
  expect(() => model("gpt-5", { "*-a-*": "textA-1" })).toThrow("ALIASES");
});

test("the operator adds, changes and removes aliases, as a table or as JSON", () => {
  const table = { "sora-2": "vidC-1-0-pro-fast", "my-film": "vidD-02", "gpt-4o": "" };
  for (const ALIASES of [table, JSON.stringify(table)]) {
    expect(["sora-2", "my-film", "gpt-4o", "gpt-5"].map((name) => model(name, ALIASES))).toEqual([
      "vidC-1-0-pro-fast",
      "vidD-02",
      "gpt-4o",
      "textA-1",
    ]);
    expect(aliasNames(env(ALIASES))).not.toContain("gpt-4o");
  }
});

test("an alias of an unknown model is an error that names the variable", () => {
  for (const wrong of [{ "sora-2": "sora-3" }, "{", "[]", 3]) expect(() => model("sora-2", wrong)).toThrow("ALIASES");
});

test("a model that the operator sells under one of OpenAI's names is that model, except under the operator's own alias", () => {
  const named = (name: string, ALIASES?: unknown) =>
    resolveModel({ ...env(ALIASES), MODELS: ["textA-1", "textA-1-mini", "gpt-5", "gpt-4o"] }, name).model;
  expect(["gpt-5", "gpt-5-2025-08-07", "gpt-4o", "gpt-4.1", "gpt-5-mini"].map((name) => named(name))).toEqual([
    "gpt-5",
    "gpt-5",
    "gpt-4o",
    "textA-1",
    "textA-1-mini",
  ]);
  expect(["gpt-5", "gpt-5-2025-08-07"].map((name) => named(name, { "gpt-5": "textA-1-mini" }))).toEqual(["textA-1-mini", "textA-1-mini"]);
});

test("an alias of a model that the operator took out is an error for this name alone", () => {
  const ALIASES = { house: "gone", "villa-*": "gone" };
  for (const name of ["house", "house-2026-01-01", "villa-2"]) expect(() => model(name, ALIASES)).toThrow("ALIASES names the model gone");
  expect(["gpt-5", "sora-2", "imgA-4"].map((name) => model(name, ALIASES))).toEqual(["textA-1", "vidA-2", "imgA-4"]);
  expect(aliasNames(env(ALIASES))).toEqual(expect.arrayContaining(["gpt-5"]));
  expect(aliasNames(env(ALIASES))).not.toContain("house");
});
