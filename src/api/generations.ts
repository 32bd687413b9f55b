/** `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`: submissions. One handler for a path, as status queries have. */

import { admitToSubmit } from "./auth.ts";
import { onError } from "./errors.ts";
import { type AppContext, withMiddleware } from "./frame.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { submissionQuery } from "./schema/queries.ts";
import { submit } from "./submit.ts";

const submitted = (accept: (c: AppContext) => Promise<Response>) =>
  withMiddleware(async (c) => {
    await admitToSubmit(c, "browser tokens");
    await readQuery(c, submissionQuery);
    return accept(c);
  }, onError);

export const submissions = routing()
  .post(
    "/v1/images/generations",
    submitted((c) => submit(c, "image")),
  )
  .post(
    "/v1/videos/generations",
    submitted((c) => submit(c, "video")),
  )
  .post(
    "/v1/videos/:id/remix",
    submitted((c) => submit(c, "remix", c.req.param("id") ?? "")),
  );
