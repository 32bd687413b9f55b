/** Types and sizes of files in words. */

import type { Language } from "../messages.ts";

const types: Record<string, string> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WebP",
  "video/mp4": "MP4",
  "video/quicktime": "MOV",
  "application/jsonl": "JSONL",
};

/** `PNG`; undefined for types that only models of others make. */
export const typeName = (type: string): string | undefined => types[type];

/** `4.1 MB` */
export function sizeText(language: Language, bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  const at = bytes === 0 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** at).toLocaleString(language, { maximumSignificantDigits: 3 })} ${units[at]}`;
}
