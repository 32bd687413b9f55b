/** The paths below /openai/v1, and 404 in OpenAI's shape for all others. */

import { type Context, Hono } from "hono";
import type { WorkerBehind } from "../gateway-api.ts";
import { modelEntry, modelList } from "./models.ts";
import { createCharacter, retrieveCharacter } from "./characters.ts";
import { complete } from "./chat.ts";
import { onError, refuse } from "./errors.ts";
import { respond } from "./responses/responses.ts";
import { editImages, generateImages } from "./images.ts";
import { createVideo, deleteVideo, downloadVideo, listVideos, remixVideo, retrieveVideo } from "./videos.ts";

/** The gateway's API, handed over with each request. */
export type Api = Parameters<WorkerBehind["open"]>[1];
export interface AppEnv {
  Bindings: OpenAiBindings & { API: Api };
}
export type AppContext = Context<AppEnv>;

const unknown = (c: AppContext) => {
  throw refuse(c, 404, "invalid_url", { method: c.req.method, path: c.req.path });
};

/** Answers what is asked below /openai/v1. */
export const paths = new Hono<AppEnv>({ strict: false })
  .basePath("/openai/v1")
  .onError(onError)
  .notFound(unknown)
  .post("/chat/completions", complete)
  .post("/responses", respond)
  .get("/models", modelList)
  .get("/models/:id", modelEntry)
  .post("/images/generations", generateImages)
  .post("/images/edits", editImages)
  .get("/videos", listVideos)
  .post("/videos", createVideo)
  // No ids of videos.
  .on(["GET", "POST", "DELETE"], ["/videos/edits", "/videos/extensions"], unknown)
  .post("/videos/characters", createCharacter)
  .on(["GET", "DELETE"], "/videos/characters", unknown)
  .get("/videos/characters/:id", retrieveCharacter)
  .get("/videos/:id", retrieveVideo)
  .delete("/videos/:id", deleteVideo)
  .get("/videos/:id/content", downloadVideo)
  .post("/videos/:id/remix", remixVideo);
