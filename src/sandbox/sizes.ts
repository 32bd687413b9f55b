/** The supported sizes: the reference pixels of images, and the videos with a clip. */

export interface Size {
  width: number;
  height: number;
}

const IMAGE_SIZES: Record<string, Size> = {
  "1:1": { width: 1024, height: 1024 },
  "16:9": { width: 1792, height: 1024 },
  "9:16": { width: 1024, height: 1792 },
  "4:3": { width: 1365, height: 1024 },
  "3:4": { width: 1024, height: 1365 },
  "3:2": { width: 1536, height: 1024 },
  "2:3": { width: 1024, height: 1536 },
};

/** The size of an image in pixels, twice the width and height for `hd`; undefined for an unsupported ratio. */
export function imageSize(ratio: string, quality: "standard" | "hd"): Size | undefined {
  const size = IMAGE_SIZES[ratio];
  const factor = quality === "hd" ? 2 : 1;
  return size && { width: size.width * factor, height: size.height * factor };
}

/** Frames per second of every video. */
export const FRAME_RATE = 24;

const SIX = ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"] as const;

/** Every ratio at the common heights, and two heights that only the widescreen ratios have. */
export const VIDEO_SIZES = [
  ...[480, 720, 1080].flatMap((shortSide) => SIX.map((ratio) => ({ ratio, shortSide }))),
  ...[512, 768].flatMap((shortSide) => (["16:9", "9:16"] as const).map((ratio) => ({ ratio, shortSide }))),
];

/** The size of a video in pixels: the short side as requested, the long one rounded to an even number. Undefined if it is not supported. */
export function videoSize(ratio: string, shortSide: number): Size | undefined {
  if (!VIDEO_SIZES.some((video) => video.ratio === ratio && video.shortSide === shortSide)) return undefined;
  const [across = 1, down = 1] = ratio.split(":").map(Number);
  const longSide = Math.round((shortSide * Math.max(across, down)) / Math.min(across, down) / 2) * 2;
  return across >= down ? { width: longSide, height: shortSide } : { width: shortSide, height: longSide };
}
