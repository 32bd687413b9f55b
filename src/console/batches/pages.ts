/** The routes below `/console/batches`. */

import { Hono } from "hono";
import type { ConsoleEnvironment } from "../context.ts";
import { signedIn } from "../frame.tsx";
import { batchPage } from "./batch.tsx";
import { askToCancel, changeBatch, downloadFailed, downloadFiles, downloadResults, repeatFailed } from "./changes.tsx";
import { linesPage } from "./lines.tsx";
import { listBatches } from "./list.tsx";
import { newBatch, startBatch, typeLines, uploadLines } from "./new.tsx";

export const batches = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", listBatches)
  .post("/", startBatch)
  .get("/new", newBatch)
  .post("/file", uploadLines)
  .post("/lines", typeLines)
  .get("/:id", (c) => batchPage(c, c.req.param("id")))
  .get("/:id/lines", (c) => linesPage(c, c.req.param("id")))
  .get("/:id/results.jsonl", (c) => downloadResults(c, c.req.param("id")))
  .get("/:id/files.zip", (c) => downloadFiles(c, c.req.param("id")))
  .get("/:id/failed.jsonl", (c) => downloadFailed(c, c.req.param("id")))
  .get("/:id/cancel", (c) => askToCancel(c, c.req.param("id")))
  .post("/:id/cancel", changeBatch("cancel"))
  .post("/:id/delivery", changeBatch("delivery"))
  .post("/:id/repeat", (c) => repeatFailed(c, c.req.param("id")));
