/** Detects the format of an image file from its bytes, not from its name or label. */

/** Formats that are accepted and returned. */
export type ImageType = "image/png" | "image/jpeg" | "image/webp";

// PNG: https://www.w3.org/TR/png-3/#5PNG-file-signature. JPEG: start of image, then a marker (ITU T.81, annex B).
// WebP: https://developers.google.com/speed/webp/docs/riff_container, `RIFF`, four bytes of size, `WEBP`.
const ANY = -1;
const signatures: readonly (readonly [ImageType, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46, ANY, ANY, ANY, ANY, 0x57, 0x45, 0x42, 0x50]],
];

/** How many bytes from the start `detectImageType` reads. */
export const IMAGE_TYPE_BYTES = 12;

/** Returns the format by the first bytes, or undefined for other formats and too few bytes. The rest of the file is not checked. */
export function detectImageType(bytes: Uint8Array): ImageType | undefined {
  return signatures.find(([, signature]) => signature.every((byte, index) => byte === ANY || byte === bytes[index]))?.[0];
}
