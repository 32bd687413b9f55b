/** The paths below /openai/v1, and 404 in OpenAI's shape for all others. */

import { type Context, Hono } from "hono";
import type { WorkerBehind } from "../gateway-api.ts";
import { ask, passOn } from "./ask.ts";
import { onError, OpenAiError } from "./errors.ts";

/** The gateway's API, handed over with each request. */
export type Api = Parameters<WorkerBehind["open"]>[1];
export type OpenAiEnv = OpenAiBindings;
export interface AppEnv {
  Bindings: OpenAiEnv & { API: Api };
}
export type AppContext = Context<AppEnv>;

/** Answers what is asked below /openai/v1. */
export const paths = new Hono<AppEnv>({ strict: false })
  .basePath("/openai/v1")
  .onError(onError)
  .notFound((c) => onError(new OpenAiError(404, `Invalid URL (${c.req.method} ${c.req.path})`), c))
  .get("/models", async (c) => passOn(await ask(c, "/v1/models")))
  .get("/models/:id", async (c) => passOn(await ask(c, `/v1/models/${encodeURIComponent(c.req.param("id"))}`)));
