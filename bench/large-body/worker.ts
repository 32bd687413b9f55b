/** The body reader alone behind HTTP, to be measured. */

import { JsonBodyError } from "../../src/media/json-error.ts";
import { readJsonSkeleton } from "../../src/media/json-skeleton.ts";

const MiB = 1024 * 1024;
/** Tells whether the isolate is still the one that began. */
let isolate: string | undefined;
/** Of bodies that broke off. */
const broken = { images: 0, removed: 0 };

export default {
  async fetch(request, env) {
    isolate ??= crypto.randomUUID();
    const { pathname } = new URL(request.url);
    if (!request.body) return Response.json(broken);
    const name = crypto.randomUUID();
    const stored: string[] = [];
    try {
      const { value, images } = await readJsonSkeleton(request.body, {
        maxBytes: 72 * MiB,
        maxSkeletonBytes: MiB,
        maxImageBytes: 10 * MiB,
        maxImages: 5,
        maxDepth: 64,
        isImageAt: ([field, index, ...rest]) => field === "images" && typeof index === "number" && rest.length === 0,
        store: async ({ bytes, index }) => {
          if (pathname !== "/r2") return;
          const key = `${name}/${index}`;
          stored.push(key);
          await env.ASSETS.put(key, bytes);
        },
      });
      return Response.json({ isolate, value, images });
    } catch (error) {
      broken.images += stored.length;
      await env.ASSETS.delete(stored);
      broken.removed += stored.length;
      if (error instanceof JsonBodyError)
        return Response.json({ reason: error.reason }, { status: error.reason === "too_large" ? 413 : 400 });
      throw error;
    }
  },
} satisfies ExportedHandler<{ ASSETS: R2Bucket }>;
