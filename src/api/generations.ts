/** `/v1/images`, `/v1/videos`, `/v1/characters_tasks`: submissions and the queries of their kind. */

import { Hono } from "hono";
import { authenticated, limited } from "./auth.ts";
import { notAllowed, onError } from "./errors.ts";
import type { AppEnv } from "./frame.ts";
import { answerStatus } from "./status.ts";
import { submit } from "./submit.ts";
import { characterView, videoView } from "./views.ts";

export const images = new Hono<AppEnv>()
  .onError(onError)
  .post("/generations", authenticated, limited("submission"), (c) => submit(c, "image"))
  .all("/generations", notAllowed("POST"));

export const videos = new Hono<AppEnv>()
  .onError(onError)
  .post("/generations", authenticated, limited("submission"), (c) => submit(c, "video"))
  .all("/generations", notAllowed("POST"))
  .get("/generations/:id", authenticated, limited("read"), (c) =>
    answerStatus(c, c.req.param("id"), ({ submission: { kind } }) => kind === "video" || kind === "remix", videoView),
  )
  .all("/generations/:id", notAllowed("GET, HEAD"))
  .post("/:id/remix", authenticated, limited("submission"), (c) => submit(c, "remix", c.req.param("id")))
  .all("/:id/remix", notAllowed("POST"));

export const characterTasks = new Hono<AppEnv>()
  .onError(onError)
  .get("/:id", authenticated, limited("read"), (c) =>
    answerStatus(c, c.req.param("id"), ({ submission }) => submission.kind === "character", characterView),
  )
  .all("/:id", notAllowed("GET, HEAD"));
