/** `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`: submissions. */

import { admittedToSubmit } from "./auth.ts";
import { middleware } from "./frame.ts";
import { query } from "./query.ts";
import { routing } from "./router.ts";
import { submissionQuery } from "./schema/queries.ts";
import { submit } from "./submit.ts";

const dryRunQuery = query(submissionQuery);

export const images = routing().post("/generations", admittedToSubmit("browser tokens"), dryRunQuery, (c) => submit(c, "image"));

export const videos = routing().post("/generations", admittedToSubmit("browser tokens"), dryRunQuery, (c) => submit(c, "video"));

/** Separate from `videos`: a path parameter beside a fixed name would prevent hono from using its fast router. Uses its own middleware. */
export const remixes = routing().post("/v1/videos/:id/remix", middleware, admittedToSubmit("browser tokens"), dryRunQuery, (c) =>
  submit(c, "remix", c.req.param("id")),
);
