/** The shape of `/` for programs: where to go on. */

import * as z from "zod/mini";

const url = z.url();

/** Without a console there are neither pages nor a description. */
export const linksAnswer = z.strictObject({
  object: z.literal("gateway"),
  api: url,
  models: url,
  health: url,
  docs: z.optional(url),
  openapi: z.optional(url),
  llms: z.optional(url),
});
