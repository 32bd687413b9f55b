/** The clips from which videos are looped, made by `scripts/sandbox-data/clips.ts`: two seconds of video track for each size, and one audio track. */

import c16x9at1080 from "./data/16x9-1080.mp4";
import c16x9at480 from "./data/16x9-480.mp4";
import c16x9at512 from "./data/16x9-512.mp4";
import c16x9at720 from "./data/16x9-720.mp4";
import c16x9at768 from "./data/16x9-768.mp4";
import c1x1at1080 from "./data/1x1-1080.mp4";
import c1x1at480 from "./data/1x1-480.mp4";
import c1x1at720 from "./data/1x1-720.mp4";
import c21x9at1080 from "./data/21x9-1080.mp4";
import c21x9at480 from "./data/21x9-480.mp4";
import c21x9at720 from "./data/21x9-720.mp4";
import c3x4at1080 from "./data/3x4-1080.mp4";
import c3x4at480 from "./data/3x4-480.mp4";
import c3x4at720 from "./data/3x4-720.mp4";
import c4x3at1080 from "./data/4x3-1080.mp4";
import c4x3at480 from "./data/4x3-480.mp4";
import c4x3at720 from "./data/4x3-720.mp4";
import c9x16at1080 from "./data/9x16-1080.mp4";
import c9x16at480 from "./data/9x16-480.mp4";
import c9x16at512 from "./data/9x16-512.mp4";
import c9x16at720 from "./data/9x16-720.mp4";
import c9x16at768 from "./data/9x16-768.mp4";

export { default as TONE } from "./data/tone.mp4";

const CLIPS: Record<string, Record<number, ArrayBuffer>> = {
  "16:9": { 480: c16x9at480, 512: c16x9at512, 720: c16x9at720, 768: c16x9at768, 1080: c16x9at1080 },
  "9:16": { 480: c9x16at480, 512: c9x16at512, 720: c9x16at720, 768: c9x16at768, 1080: c9x16at1080 },
  "1:1": { 480: c1x1at480, 720: c1x1at720, 1080: c1x1at1080 },
  "4:3": { 480: c4x3at480, 720: c4x3at720, 1080: c4x3at1080 },
  "3:4": { 480: c3x4at480, 720: c3x4at720, 1080: c3x4at1080 },
  "21:9": { 480: c21x9at480, 720: c21x9at720, 1080: c21x9at1080 },
};

/** The clip of a ratio with a short side. Throws `RangeError` if it does not exist. */
export function readClip(ratio: string, shortSide: number): ArrayBuffer {
  const clip = CLIPS[ratio]?.[shortSide];
  if (!clip) throw new RangeError(`no clip for ${ratio} at ${shortSide}`);
  return clip;
}
