/** `/v1/models`: what can be asked for, with fields, limits and prices made from the catalog. */

import { Hono } from "hono";
import * as z from "zod/mini";
import { type Action, allModels, type Model } from "../catalog/models.ts";
import { priceOf, shownPrice } from "../catalog/prices.ts";
import { routesFor } from "../catalog/routes.ts";
import { tablesOf } from "../config.ts";
import { isOn } from "../providers/index.ts";
import { admitted } from "./auth.ts";
import { notAllowed } from "./errors.ts";
import { type AppEnv, answer } from "./frame.ts";

/** When this list of models was drawn up, Unix seconds: OpenAI's clients expect the field. */
const created = 1_793_491_200;

export const models = new Hono<AppEnv>()
  .get("/", admitted("read"), (c) => {
    const { prices, routes } = tablesOf(c.env);
    const usable = allModels().filter((model) => routesFor(model.id, routes, (provider) => isOn(c.env, provider)).length > 0);
    return answer(c, { object: "list", data: usable.map((model) => ({ ...viewOf(model), price: shownPrice(priceOf(model, prices)) })) });
  })
  .all("/", notAllowed("GET, HEAD"));

function viewOf(model: Model) {
  const { chat, image, video, ...others } = model.actions;
  return {
    id: model.id,
    object: "model",
    created,
    owned_by: "gateway",
    kind: model.family,
    aliases: model.aliases ?? [],
    parameters: schemaOf(model, (chat ?? image ?? video)!),
    // What else the model does: character creation and remix have bodies of their own.
    ...(Object.keys(others).length > 0 && {
      actions: Object.fromEntries(Object.entries(others).map(([action, schema]) => [action as Action, schemaOf(model, schema)])),
    }),
  };
}

function schemaOf(model: Model, schema: z.ZodMiniType) {
  const { $schema, properties, required, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return {
    $schema,
    ...rest,
    properties: { model: { type: "string", enum: [model.id, ...(model.aliases ?? [])] }, ...properties },
    required: ["model", ...(required ?? [])],
  };
}
