/** The bodies of the interface's models: the schema of each action, by model. The only part of a model that is code. */

import { chatBody } from "./chat-schema.ts";
import type { Actions } from "./models.ts";
import { characterBody, image, remix, vidA, vidB, vidC, vidD } from "./schemas.ts";

const remixable = (durations: readonly number[], remixDurations: readonly number[], remixDefault: number): Actions => ({
  video: vidA(durations),
  character: characterBody,
  remix: remix(remixDurations, remixDefault),
});

/** The body of every text model. */
export const textBody = "textA-1";

/** Model of the interface -> its bodies. Another model has the body of one of them (`like`). */
export const bodies: Readonly<Record<string, Actions>> = {
  [textBody]: { chat: chatBody },
  "textA-1-mini": { chat: chatBody },
  "imgA-4": { image },
  "imgB-4o-image": { image },
  "imgC-3-pro-image-preview": { image },
  "vidA-2": remixable([10, 15], [10, 15], 10),
  "vidA-2-pro": remixable([10, 15, 25], [15, 25], 15),
  "vidB-3.1-fast": { video: vidB },
  "vidB-3.1-quality": { video: vidB },
  "vidC-1-0-pro-fast": { video: vidC },
  "vidC-1-0-pro-quality": { video: vidC },
  "vidD-02": { video: vidD },
};
