/** The routes of the built-in models, and which of a model's routes may serve it. */

import { expect, test } from "vitest";
import { builtInCatalog } from "../../src/catalog/catalog.ts";
import type { Model, Route } from "../../src/catalog/models.ts";
import { routesFor } from "../../src/catalog/routes.ts";
import { providerNames } from "../../src/providers/index.ts";

test("every built-in model ends with the sandbox", () => {
  for (const { id, routes } of builtInCatalog().live) expect(routes.at(-1), id).toEqual({ provider: "sandbox", model: id });
});

test("every built-in model has a body: its own, or that of another one", () => {
  expect(builtInCatalog().all.flatMap(({ id, actions }) => (Object.keys(actions).length === 0 ? [id] : []))).toEqual([]);
});

test("every provider of a route exists", () => {
  const unknown = builtInCatalog().all.flatMap(({ routes }) => routes.filter(({ provider }) => !providerNames.includes(provider)));
  expect(unknown).toEqual([]);
});

test("the sandbox is a fallback of a real provider only on a local gateway whose operator configured it", () => {
  const real = { provider: "fal", model: "x" };
  const sandbox = { provider: "sandbox", model: "imgA-4" };
  const isOn = (provider: string) => ["fal", "sandbox"].includes(provider);
  const base = builtInCatalog().named("imgA-4")!;
  const own: Model = { ...base, routes: [real, sandbox] satisfies Route[], hasOwnRoutes: true };
  expect(routesFor(own, isOn, true)).toEqual([real, sandbox]);
  expect(routesFor(own, isOn)).toEqual([real]);
  expect(routesFor(own, (provider) => provider === "sandbox")).toEqual([sandbox]);
  expect([...new Set(routesFor(base, isOn, true).map(({ provider }) => provider))]).toEqual(["fal"]);
  expect(routesFor({ ...own, state: "hidden" }, isOn, true)).toEqual([]);
});
