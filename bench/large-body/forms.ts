/**
 * The second part of `npm run bench:large-body`: forms and JSON bodies of up to 16 MB to OpenAI's paths, in isolates of 128 MB. Exits 1 if a
 * limit is exceeded.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build.ts";
import { type LargeBody, noise } from "./client.ts";
import { dataUri, image, MiB, type Sent, toBody, toJson, withinHeaps } from "./heaps.ts";

const boundary = "----form-of-the-bench";
const isForm = { "content-type": `multipart/form-data; boundary=${boundary}` };

/** A form of text fields, then files. */
function form(fields: Record<string, string>, files: [name: string, bytes: Uint8Array][]): LargeBody {
  const head = (name: string, more: string) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`);
  const texts = Object.entries(fields).flatMap(([name, value]) => [head(name, ""), Buffer.from(`${value}\r\n`)]);
  const parts = files.flatMap(([name, bytes]) => [head(name, '; filename="file"'), Buffer.from(bytes), Buffer.from("\r\n")]);
  return toBody([...texts, ...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

/** A real video, padded to this length with a box that players skip. */
function video(bytes: number): Uint8Array {
  const real = readFileSync(join(root, "src/sandbox/data/16x9-480.mp4"));
  const file = noise(bytes);
  file.set(real);
  const box = Buffer.from("....free");
  box.writeUInt32BE(bytes - real.length);
  file.set(box, real.length);
  return file;
}

const edit = { model: "dall-e-3", prompt: "Two as one", size: "1024x1024" };
const videoFields = { model: "sora-2", prompt: "It moves", seconds: "4" };
/** Each path with the largest body that it accepts: 16 MB in total, 10 MiB per image. */
const bodies: Sent[] = [
  { name: "form", path: "/openai/v1/images/edits", headers: isForm, body: form(edit, [["image[]", image(10 * MiB)], ["image[]", image(5.9 * MiB)]]) }, // prettier-ignore
  { name: "JSON", path: "/openai/v1/images/edits", body: toJson({ ...edit, images: [dataUri(7 * MiB), dataUri(4.9 * MiB)] }) },
  { name: "form", path: "/openai/v1/videos", headers: isForm, body: form(videoFields, [["input_reference", image(10 * MiB)]]) },
  { name: "JSON", path: "/openai/v1/videos", body: toJson({ ...videoFields, input_reference: { image_url: dataUri(10 * MiB) } }) },
  { name: "form", path: "/openai/v1/videos/characters", headers: isForm, body: form({ name: "Mossy" }, [["video", video(15.9 * MiB)]]) },
];

await withinHeaps(bodies);
