/** The paths below /openai/v1, and 404 or 405 in OpenAI's shape for all others. */

import type { AppEnv, AppContext } from "./context.ts";
import { ApiClient } from "../client.ts";
import { Hono, type MiddlewareHandler } from "hono";
import { arrive } from "./arrival.ts";
import { modelEntry, modelList } from "./models.ts";
import { createCharacter, retrieveCharacter } from "./characters.ts";
import { cancelBatch, createBatch, listBatches, retrieveBatch } from "./batches.ts";
import { complete } from "./chat.ts";
import { deleteFile, downloadFile, listFiles, retrieveFile, uploadFile } from "./files.ts";
import { languageHeaders, onError, refuse, refuseMethod, toOpenAiError } from "./errors.ts";
import { respond } from "./responses/responses.ts";
import { deleteResponse, retrieveResponse } from "./responses/store.ts";
import { editImages, generateImages } from "./images.ts";
import { createVideo, deleteVideo, downloadVideo, listVideos, remixVideo, retrieveVideo } from "./videos.ts";

const unknown = (c: AppContext) => {
  throw refuse(c, 404, "invalid_url", { method: c.req.method, path: c.req.path });
};

/** Agents' frameworks ask the same base URL for embeddings unless they are configured otherwise. */
const noEmbeddings = (c: AppContext) => {
  throw refuse(c, 404, "no_embeddings", { docs: new URL("/docs/openai#embeddings", c.req.url).href }, { code: "unsupported_endpoint" });
};

/** 405 if the path has other methods, else 404. */
const unmatched = (c: AppContext) => {
  const methods = ["GET", "POST", "DELETE"].filter((method) => {
    const routes = paths.router.match(method, c.req.path)[0].map(([[, route]]) => route);
    const handler: unknown = routes.find((route) => route.method !== "ALL")?.handler;
    return handler !== undefined && handler !== unknown && handler !== noEmbeddings;
  });
  if (methods.length === 0) return unknown(c);
  throw refuseMethod(c, methods.join(", ").replace("GET", "GET, HEAD"));
};

/** The client of the gateway's API, and headers that the gateway's own answers have too: the key's rate limits, and for JSON the language of its messages. */
const commonHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  const gateway = new ApiClient(c.env.API, c.req.raw, toOpenAiError);
  c.set("gateway", gateway);
  await next();
  for (const [name, value] of gateway.limits) c.header(name, value);
  const isJson = c.res.headers.get("content-type")?.startsWith("application/json");
  if (isJson) for (const [name, value] of Object.entries(languageHeaders(c))) c.header(name, value);
};

/** Refuses a request without a valid key before its body is read and anything is stored. */
const requireKey: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.env.REFUSAL) throw await toOpenAiError(new Response(c.env.REFUSAL.body, c.env.REFUSAL));
  await next();
};

/** The routes below /openai/v1. */
export const paths = new Hono<AppEnv>({ strict: false })
  .basePath("/openai/v1")
  .onError(onError)
  .notFound(unmatched)
  .use(commonHeaders)
  .on("ALL", ["/chat/*", "/responses/*", "/models/*", "/images/*", "/videos/*", "/files/*", "/batches/*"], requireKey)
  .post("/chat/completions", arrive, complete)
  .post("/responses", arrive, respond)
  .get("/responses/:id", retrieveResponse)
  .delete("/responses/:id", deleteResponse)
  .post("/embeddings", noEmbeddings)
  .get("/models", modelList)
  .get("/models/:id", modelEntry)
  .post("/images/generations", arrive, generateImages)
  .post("/images/edits", arrive, editImages)
  .get("/files", listFiles)
  .post("/files", uploadFile)
  .get("/files/:id", retrieveFile)
  .delete("/files/:id", deleteFile)
  .get("/files/:id/content", downloadFile)
  .get("/batches", listBatches)
  .post("/batches", arrive, createBatch)
  .get("/batches/:id", retrieveBatch)
  .post("/batches/:id/cancel", cancelBatch)
  .get("/videos", listVideos)
  .post("/videos", arrive, createVideo)
  // Paths of OpenAI, not ids of videos.
  .on(["GET", "POST", "DELETE"], ["/videos/edits", "/videos/extensions"], unknown)
  .post("/videos/characters", arrive, createCharacter)
  .on(["GET", "DELETE"], "/videos/characters", unknown)
  .get("/videos/characters/:id", retrieveCharacter)
  .get("/videos/:id", retrieveVideo)
  .delete("/videos/:id", deleteVideo)
  .get("/videos/:id/content", downloadVideo)
  .post("/videos/:id/remix", arrive, remixVideo);
