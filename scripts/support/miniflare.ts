/** Wrangler's own miniflare: it matches this project's workerd. */

import { createRequire } from "node:module";

const requireOfWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler"));
export const { convertV4MiniflareOptions, Miniflare } = requireOfWrangler("miniflare") as typeof import("miniflare");
