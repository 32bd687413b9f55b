/** The files of a result, and the names under which they are delivered. */

import type { Asset } from "../storage/assets.ts";
import type { Result } from "./record.ts";

/** The files of a result with their names: `1.png`, `2.png`; `video.mp4`, `thumbnail.jpg`; `picture.png`; `file-1.mp3` for what else was made. */
export function listFiles(result: Result): { name: string; asset: Asset }[] {
  const named = (stem: string, asset: Asset) => ({ name: `${stem}${/\.[a-z0-9]+$/.exec(asset.key)?.[0] ?? ""}`, asset });
  const more = "files" in result && result.files ? result.files.map((file, at) => named(`file-${at + 1}`, file)) : [];
  switch (result.kind) {
    case "images":
      return [...result.images.map((image, at) => named(String(at + 1), image)), ...more];
    case "video":
      return [named("video", result.video), ...(result.thumbnail ? [named("thumbnail", result.thumbnail)] : []), ...more];
    case "files":
      return more;
    case "character":
      return [named("picture", result.picture)];
  }
}
