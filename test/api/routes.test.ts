/** The routes of `routes.json`, and how `[vars.ROUTES]` overrides them. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { allModels } from "../../src/catalog/models.ts";
import builtIn from "../../src/catalog/routes.json";
import { checkRoutes, routesFor } from "../../src/catalog/routes.ts";
import { pricesAndRoutes } from "../../src/config.ts";

test("every model has routes, and the last is the sandbox's", () => {
  const { routes } = pricesAndRoutes(env);
  for (const { id } of allModels()) expect(routes[id]?.at(-1), id).toEqual({ provider: "sandbox", model: id });
});

test("every provider of a route exists", () => {
  const known = new Set(["openai", "cloudflare", "fal", "modelark", "minimax", "google", "replicate", "media", "sandbox"]);
  expect(Object.values(pricesAndRoutes(env).routes).flatMap((list) => list.filter(({ provider }) => !known.has(provider)))).toEqual([]);
});

test("the operator's routes replace those of single models, with their settings", () => {
  const own = [{ provider: "fal", model: "x", settings: { reasoning: "none" } }];
  expect(checkRoutes({ "imgA-4": own })).toEqual({ ...builtIn, "imgA-4": own });
});

test.each([
  ["an unknown model", { "imgA-9": [] }],
  ["no list", { "imgA-4": { provider: "fal", model: "x" } }],
  ["a route without a model", { "imgA-4": [{ provider: "fal" }] }],
  ["a provider that is no text", { "imgA-4": [{ provider: 1, model: "x" }] }],
  ["settings that are no table", { "imgA-4": [{ provider: "fal", model: "x", settings: ["a"] }] }],
])("%s is refused with a message that names the entry", (_, configured) => {
  expect(() => checkRoutes(configured)).toThrow(/imgA-\d/);
});

test("the sandbox is a fallback of a real provider only on a local gateway whose operator configured it", () => {
  const real = { provider: "fal", model: "x" };
  const sandbox = { provider: "sandbox", model: "imgA-4" };
  const own = checkRoutes({ "imgA-4": [real, sandbox] });
  const isOn = (provider: string) => ["fal", "sandbox"].includes(provider);
  expect(routesFor("imgA-4", own, isOn, true)).toEqual([real, sandbox]);
  expect(routesFor("imgA-4", own, isOn)).toEqual([real]);
  expect(routesFor("imgA-4", own, (provider) => provider === "sandbox")).toEqual([sandbox]);
  const builtInRoutes = routesFor("imgA-4", checkRoutes({ "imgB-4o-image": [sandbox] }), isOn, true);
  expect(builtInRoutes.map(({ provider }) => provider)).toEqual(["fal"]);
});
