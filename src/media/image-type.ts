/** What an image file is, told by its bytes and not by its name or label. */

/** The formats that are taken in and handed out. */
export type ImageType = "image/png" | "image/jpeg" | "image/webp";

// PNG: https://www.w3.org/TR/png-3/#5PNG-file-signature. JPEG: start of image, then a marker (ITU T.81, annex B).
// WebP: https://developers.google.com/speed/webp/docs/riff_container, `RIFF`, four bytes of size, `WEBP`.
const ANY = -1;
const signatures: readonly (readonly [ImageType, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46, ANY, ANY, ANY, ANY, 0x57, 0x45, 0x42, 0x50]],
];

/** How many bytes from the start `imageTypeOf` looks at. */
export const IMAGE_TYPE_BYTES = 12;

/** The format by the file's first bytes, undefined for any other format and for too few bytes. Says nothing about the rest of the file. */
export function detectImageType(bytes: Uint8Array): ImageType | undefined {
  return signatures.find(([, signature]) => signature.every((byte, index) => byte === ANY || byte === bytes[index]))?.[0];
}
