/** The sandbox's samples of a model's output. */

import type { ConsoleContext } from "../context.ts";
import type { Choice } from "../playground/choices.ts";
import { hashedPath } from "../static-files.ts";
import { Video } from "./video.tsx";

/** The sandbox's sample of an image model. */
const images: Record<string, string> = {
  "imgA-4": "lighthouse-2.webp",
  "imgB-4o-image": "sample-imgB-4o-image.webp",
  "imgC-3-pro-image-preview": "sample-imgC-3-pro-image-preview.webp",
};

/** What stands for a video model in lists: a still of the sandbox. */
const stills: Record<string, string> = {
  "vidA-2": "wall-9.webp",
  "vidA-2-pro": "hills.webp",
  "vidB-3.1-fast": "wall-2.webp",
  "vidB-3.1-quality": "wall-3.webp",
  "vidC-1-0-pro-fast": "wall-5.webp",
  "vidC-1-0-pro-quality": "wall-6.webp",
  "vidD-02": "wall-8.webp",
};

/** The path of an image of what a built-in model makes; undefined for text and for the operator's own models. */
export function samplePath({ model }: Choice): string | undefined {
  const name = images[model] ?? stills[model];
  return name === undefined ? undefined : hashedPath(name);
}

/** A sample of a model's output; nothing for text. */
export const Sample = ({ c, choice }: { c: ConsoleContext; choice: Choice }) => {
  const image = images[choice.model];
  const shown =
    image !== undefined ? (
      <img src={hashedPath(image)} alt="" width={680} height={389} />
    ) : choice.action === "video" ? (
      <Video c={c} />
    ) : undefined;
  return shown === undefined ? null : (
    <figure class="sample">
      {shown}
      <figcaption class="meta">{c.var.t("site_sandbox")}</figcaption>
    </figure>
  );
};
