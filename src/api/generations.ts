/** `/v1/images`, `/v1/videos`, `/v1/characters_tasks`: submissions. */

import { Hono, type MiddlewareHandler } from "hono";
import { admittedToSubmit } from "./auth.ts";
import { notAllowed, unknownPath } from "./errors.ts";
import type { AppEnv } from "./frame.ts";
import { dryRunQuery } from "./query.ts";
import { submit } from "./submit.ts";

export const images = new Hono<AppEnv>()
  .post("/generations", admittedToSubmit("browser tokens"), dryRunQuery, (c) => submit(c, "image"))
  .all("/generations", notAllowed("POST"));

const noVideoPath = unknownPath([
  [/\/generations$/, "POST"],
  [/\/generations\/[^/]+$/, "GET, HEAD"],
  [/\/[^/]+\/remix$/, "POST"],
]);
const isGenerations: MiddlewareHandler<AppEnv> = (c, next) => (c.req.param("collection") === "generations" ? next() : noVideoPath(c));

export const videos = new Hono<AppEnv>()
  // As a parameter, for a fixed name beside `/:id/remix` would keep hono from its fast router.
  .post("/:collection", isGenerations, admittedToSubmit("browser tokens"), dryRunQuery, (c) => submit(c, "video"))
  .post("/:id/remix", admittedToSubmit("browser tokens"), dryRunQuery, (c) => submit(c, "remix", c.req.param("id")))
  .all("/*", noVideoPath);

export const characterTasks = new Hono<AppEnv>().all("/*", unknownPath([[/characters_tasks\/[^/]+$/, "GET, HEAD"]]));
