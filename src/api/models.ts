/** `/v1/models`: what can be asked for, with fields, limits and prices made from the catalog. */

import { Hono } from "hono";
import { type Action, allModels, type Model } from "../catalog/models.ts";
import parameters from "../catalog/parameters.json";
import { effectivePrice, shownPrice } from "../catalog/prices.ts";
import { routesFor } from "../catalog/routes.ts";
import { pricesAndRoutes } from "../config.ts";
import { isOn } from "../providers/index.ts";
import { admitted } from "./auth.ts";
import { notAllowed } from "./errors.ts";
import { type AppEnv, answer } from "./frame.ts";

/** When this list of models was drawn up, Unix seconds: OpenAI's clients expect the field. */
const created = 1_793_491_200;

export const models = new Hono<AppEnv>()
  .get("/", admitted("read"), (c) => {
    const { prices, routes } = pricesAndRoutes(c.env);
    const usable = allModels().filter((model) => routesFor(model.id, routes, (provider) => isOn(c.env, provider)).length > 0);
    return answer(c, {
      object: "list",
      data: usable.map((model) => ({ ...toModelEntry(model), price: shownPrice(effectivePrice(model, prices)) })),
    });
  })
  .all("/", notAllowed("GET, HEAD"));

function toModelEntry(model: Model) {
  const indexes: Partial<Record<Action, number>> = parameters.models[model.id as keyof typeof parameters.models];
  const schemas = Object.fromEntries(Object.entries(indexes).map(([action, index]) => [action, parameterSchema(model, index)]));
  const { chat, image, video, ...others } = schemas;
  return {
    id: model.id,
    object: "model",
    created,
    owned_by: "gateway",
    kind: model.family,
    aliases: model.aliases ?? [],
    parameters: chat ?? image ?? video,
    // What else the model does: character creation and remix have bodies of their own.
    ...(Object.keys(others).length > 0 && { actions: others }),
  };
}

/** Made from the catalog's own by `npm run parameters`: what makes JSON Schemas is as large as all of `api`. */
function parameterSchema(model: Model, index: number) {
  const { properties, required, ...rest }: { properties?: object; required?: string[] } = parameters.schemas[index]!;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...rest,
    properties: { model: { type: "string", enum: [model.id, ...(model.aliases ?? [])] }, ...properties },
    required: ["model", ...(required ?? [])],
  };
}
