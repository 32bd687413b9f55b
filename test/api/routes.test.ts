/** The routes that wrangler.toml comes with. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { allModels } from "../../src/catalog/models.ts";
import { pricesAndRoutes } from "../../src/config.ts";

test("every model has routes, the last of them the sandbox's", () => {
  const { routes } = pricesAndRoutes(env);
  for (const { id } of allModels()) expect(routes[id]?.at(-1), id).toEqual({ provider: "sandbox", model: id });
});

test("providers are known ones", () => {
  const known = new Set(["openai", "cloudflare", "fal", "modelark", "minimax", "google", "replicate", "media", "sandbox"]);
  expect(Object.values(pricesAndRoutes(env).routes).flatMap((list) => list.filter(({ provider }) => !known.has(provider)))).toEqual([]);
});
