/** The body of a submission to the fal queue: its input as JSON, with the caller's pictures as URLs or data URIs in it. */

import type { Plan } from "./plan.ts";
import { postWithPictures } from "../shared/measured-body.ts";
import type { InputImage } from "../provider.ts";

/** The POST: pictures are encoded while it is sent, for five of them do not fit into the isolate beside its other work. Throws `InputError`. */
export function preparePost({ input, pictures }: Plan, images: InputImage[]): ReturnType<typeof postWithPictures> {
  const used = Object.values(pictures).flat();
  return postWithPictures(
    used.map((at) => images[at]!),
    (urls) => {
      const left = [...urls];
      const fields = Object.entries(pictures).map(([field, at]) => [
        field,
        typeof at === "number" ? left.shift() : left.splice(0, at.length),
      ]);
      return { ...input, ...Object.fromEntries(fields) };
    },
  );
}
