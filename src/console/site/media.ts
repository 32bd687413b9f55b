/** Samples that the sandbox made (`npm run generate -- media`): bytes by file name. */

import hillsMp4 from "./media/hills.mp4";
import hills from "./media/hills.webp";
import lighthouse1 from "./media/lighthouse-1.webp";
import lighthouse2 from "./media/lighthouse-2.webp";
import sampleImgB4oImage from "./media/sample-imgB-4o-image.webp";
import sampleImgC3ProImagePreview from "./media/sample-imgC-3-pro-image-preview.webp";
import wall2 from "./media/wall-2.webp";
import wall3 from "./media/wall-3.webp";
import wall5 from "./media/wall-5.webp";
import wall6 from "./media/wall-6.webp";
import wall8 from "./media/wall-8.webp";
import wall9 from "./media/wall-9.webp";
import wavesMp4 from "./media/waves.mp4";
import waves from "./media/waves.webp";

export const media: Readonly<Record<string, ArrayBuffer>> = {
  "hills.mp4": hillsMp4,
  "hills.webp": hills,
  "lighthouse-1.webp": lighthouse1,
  "lighthouse-2.webp": lighthouse2,
  "sample-imgB-4o-image.webp": sampleImgB4oImage,
  "sample-imgC-3-pro-image-preview.webp": sampleImgC3ProImagePreview,
  "wall-2.webp": wall2,
  "wall-3.webp": wall3,
  "wall-5.webp": wall5,
  "wall-6.webp": wall6,
  "wall-8.webp": wall8,
  "wall-9.webp": wall9,
  "waves.mp4": wavesMp4,
  "waves.webp": waves,
};
