/** `/v1/models`: the available models, with fields, limits and prices from the catalog. */

import { Hono } from "hono";
import { type Action, allModels, type Model, modelNamed } from "../catalog/models.ts";
import parameters from "../catalog/parameters.json";
import { effectivePrice, shownPrice } from "../catalog/prices.ts";
import { routesFor } from "../catalog/routes.ts";
import { pricesAndRoutes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { sha256Hex } from "../ids.ts";
import { isOn } from "../providers/index.ts";
import { admitted } from "./auth.ts";
import { unlessKnown } from "./etag.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";

/** The date of this list of models in Unix seconds: OpenAI's clients expect the field. */
const created = 1_793_491_200;

export const models = new Hono<AppEnv>()
  .get("/", admitted("read"), (c) => {
    const data = allModels().filter((model) => isUsable(c.env, model));
    return answerTagged(c, { object: "list", data: data.map((model) => toModelEntry(c.env, model)) });
  })
  .get("/:id", admitted("read"), (c) => {
    const model = modelNamed(c.req.param("id"));
    if (!model || !isUsable(c.env, model)) throw new ApiError("model_not_found", { status: 404 });
    return answerTagged(c, toModelEntry(c.env, model));
  });

/** True if one of its routes is switched on. */
const isUsable = (env: Env, { id }: Model) => routesFor(id, pricesAndRoutes(env).routes, (provider) => isOn(env, provider)).length > 0;

/** The ETag changes only with the gateway's version and configuration. */
async function answerTagged(c: AppContext, body: object): Promise<Response> {
  c.header("etag", `W/"${await sha256Hex(JSON.stringify(body))}"`);
  c.header("cache-control", "private, no-cache");
  return unlessKnown(c, answer(c, body));
}

/** A model's entry in `/v1/models`. */
function toModelEntry(env: Env, model: Model) {
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
    price: shownPrice(effectivePrice(model, pricesAndRoutes(env).prices)),
    // The model's other actions, such as character creation and remix, have bodies of their own.
    ...(Object.keys(others).length > 0 && { actions: others }),
  };
}

/** Generated from the catalog by `npm run parameters`: the generator of JSON Schemas is as large as all of `api`. */
function parameterSchema(model: Model, index: number) {
  const { properties, required, ...rest }: { properties?: object; required?: string[] } = parameters.schemas[index]!;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...rest,
    properties: { model: { type: "string", enum: [model.id, ...(model.aliases ?? [])] }, ...properties },
    required: ["model", ...(required ?? [])],
  };
}
