/** `/v1/images`, `/v1/videos`, `/v1/characters_tasks`: submissions and the queries of their kind. */

import { Hono, type MiddlewareHandler } from "hono";
import { authenticated, limited } from "./auth.ts";
import { notAllowed, onError, otherwise } from "./errors.ts";
import type { AppEnv } from "./frame.ts";
import { answerStatus } from "./status.ts";
import { submit } from "./submit.ts";
import { characterView, videoView } from "./views.ts";

export const images = new Hono<AppEnv>()
  .onError(onError)
  .post("/generations", authenticated, limited("submission"), (c) => submit(c, "image"))
  .all("/generations", notAllowed("POST"));

const noVideoPath = otherwise([
  [/\/generations$/, "POST"],
  [/\/generations\/[^/]+$/, "GET, HEAD"],
  [/\/[^/]+\/remix$/, "POST"],
]);
const isGenerations: MiddlewareHandler<AppEnv> = (c, next) => (c.req.param("collection") === "generations" ? next() : noVideoPath(c));

export const videos = new Hono<AppEnv>()
  .onError(onError)
  // As a parameter, for a fixed name beside `/:id/remix` would keep hono from its fast router.
  .post("/:collection", isGenerations, authenticated, limited("submission"), (c) => submit(c, "video"))
  .get("/generations/:id", authenticated, limited("read"), (c) =>
    answerStatus(c, c.req.param("id"), ({ submission: { kind } }) => kind === "video" || kind === "remix", videoView),
  )
  .post("/:id/remix", authenticated, limited("submission"), (c) => submit(c, "remix", c.req.param("id")))
  .all("/*", noVideoPath);

export const characterTasks = new Hono<AppEnv>()
  .onError(onError)
  .get("/:id", authenticated, limited("read"), (c) =>
    answerStatus(c, c.req.param("id"), ({ submission }) => submission.kind === "character", characterView),
  )
  .all("/*", otherwise([[/characters_tasks\/[^/]+$/, "GET, HEAD"]]));
