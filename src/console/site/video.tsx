/** The sandbox's sample video, in the browser's own player, with captions. */

import type { ConsoleContext } from "../context.ts";
import { hashedPath } from "../static-files.ts";

export const Video = ({ c }: { c: ConsoleContext }) => (
  <video
    controls
    preload="none"
    playsinline
    width={854}
    height={480}
    poster={hashedPath("waves.webp")}
    src={hashedPath("waves.mp4")}
    aria-label={c.var.t("site_video")}
  >
    <track kind="captions" srclang="en" label="English" src={hashedPath("waves.vtt")} />
  </video>
);
