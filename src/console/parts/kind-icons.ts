/** The icon of each kind of work. */

import type { Action } from "../../catalog/models.ts";

export const kindIcons = {
  chat: "chat",
  image: "image",
  video: "film",
  character: "face",
  remix: "remix",
  file: "cube",
} as const satisfies Record<Action, string>;
