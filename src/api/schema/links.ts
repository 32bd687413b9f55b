/** The schema of `/` for programs: links to other paths. */

import * as z from "zod/mini";

const url = z.url();

/** Missing if the console is not deployed, which serves the pages and the API description. */
export const entryPoints = z.strictObject({
  object: z.literal("gateway"),
  api: url,
  models: url,
  health: url,
  docs: z.optional(url),
  openapi: z.optional(url),
  llms: z.optional(url),
});
