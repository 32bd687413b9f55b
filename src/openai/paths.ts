/** The paths below /openai/v1, and 404 in OpenAI's shape for all others. */

import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { WorkerBehind } from "../gateway-api.ts";
import { modelEntry, modelList } from "./models.ts";
import { createCharacter, retrieveCharacter } from "./characters.ts";
import { complete } from "./chat.ts";
import { languageHeaders, onError, refuse } from "./errors.ts";
import { respond } from "./responses/responses.ts";
import { editImages, generateImages } from "./images.ts";
import { createVideo, deleteVideo, downloadVideo, listVideos, remixVideo, retrieveVideo } from "./videos.ts";

/** The gateway's API, passed with each request. */
export type Api = Parameters<WorkerBehind["open"]>[1];
export interface AppEnv {
  Bindings: OpenAiBindings & { API: Api };
  /** The `x-ratelimit-*` headers of the gateway's last answer. */
  Variables: { limits?: [string, string][] };
}
export type AppContext = Context<AppEnv>;

const unknown = (c: AppContext) => {
  throw refuse(c, 404, "invalid_url", { method: c.req.method, path: c.req.path });
};

/** Headers that the gateway's own answers have too: the key's rate limits, and for JSON the language of its messages. */
const commonHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  for (const [name, value] of c.get("limits") ?? []) c.header(name, value);
  const isJson = c.res.headers.get("content-type")?.startsWith("application/json");
  if (isJson) for (const [name, value] of Object.entries(languageHeaders(c))) c.header(name, value);
};

/** The routes below /openai/v1. */
export const paths = new Hono<AppEnv>({ strict: false })
  .basePath("/openai/v1")
  .onError(onError)
  .notFound(unknown)
  .use(commonHeaders)
  .post("/chat/completions", complete)
  .post("/responses", respond)
  .get("/models", modelList)
  .get("/models/:id", modelEntry)
  .post("/images/generations", generateImages)
  .post("/images/edits", editImages)
  .get("/videos", listVideos)
  .post("/videos", createVideo)
  // Paths of OpenAI, not ids of videos.
  .on(["GET", "POST", "DELETE"], ["/videos/edits", "/videos/extensions"], unknown)
  .post("/videos/characters", createCharacter)
  .on(["GET", "DELETE"], "/videos/characters", unknown)
  .get("/videos/characters/:id", retrieveCharacter)
  .get("/videos/:id", retrieveVideo)
  .delete("/videos/:id", deleteVideo)
  .get("/videos/:id/content", downloadVideo)
  .post("/videos/:id/remix", remixVideo);
