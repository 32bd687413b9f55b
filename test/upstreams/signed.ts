/** Files with a C2PA manifest, as makers sign theirs: real images and a video. */

import { readFileSync } from "node:fs";
import { signed, type SignedType } from "../media/signed.ts";

/** The signed file of this type. */
export const signedFile = (type: SignedType): Uint8Array<ArrayBuffer> =>
  signed[type](readFileSync(new URL("../../src/sandbox/data/16x9-480.mp4", import.meta.url)));
