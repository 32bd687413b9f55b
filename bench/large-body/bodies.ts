/**
 * Large bodies, one and several at once, to a gateway with the OpenAI Worker behind it, each in an isolate of 128 MB: forms and JSON of up to
 * 16 MB to OpenAI's paths, then chats and responses of 10 MiB, the largest that are taken, whose upstream takes its time, so that all wait for
 * it at once.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/support/wrangler.ts";
import { freshHeaders } from "../calls.ts";
import { image, isRight, type LargeBody, noise, send, toBody, toDataUri, toJson } from "./client.ts";
import { heapDuring } from "./heap.ts";
import { heapMB, MiB, startMeasured } from "./measured.ts";

/** A body and where it is sent. */
interface Sent {
  /** What the body is, for the printed line. */
  name: string;
  path: string;
  /** `application/json` by default. */
  headers?: Record<string, string>;
  body: LargeBody;
}

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
const forms: Sent[] = [
  { name: "form", path: "/openai/v1/images/edits", headers: isForm, body: form(edit, [["image[]", image(10 * MiB)], ["image[]", image(5.9 * MiB)]]) }, // prettier-ignore
  { name: "JSON", path: "/openai/v1/images/edits", body: toJson({ ...edit, images: [toDataUri(7 * MiB), toDataUri(4.9 * MiB)] }) },
  { name: "form", path: "/openai/v1/videos", headers: isForm, body: form(videoFields, [["input_reference", image(10 * MiB)]]) },
  { name: "JSON", path: "/openai/v1/videos", body: toJson({ ...videoFields, input_reference: { image_url: toDataUri(10 * MiB) } }) },
  { name: "form", path: "/openai/v1/videos/characters", headers: isForm, body: form({ name: "Mossy" }, [["video", video(15.9 * MiB)]]) },
];

const whole = 9.99 * MiB;
const text = "It was a dark and stormy night. ".repeat(whole / 32);
/** One such character makes the whole string twice as large in memory. */
const wideText = `${text.slice(8)}\u4e2d`;
const dataUri = toDataUri((whole * 3) / 4 - 1024);
const chat = { model: "textA-1", max_tokens: 16 };
const response = { model: "gpt-5", max_output_tokens: 16 };
const ask = (content: unknown) => [{ role: "user", content }];
/** Nearly as many values as are taken, in the form that takes the most memory: an object with a name of its own for each. */
const values = Array.from({ length: 49_000 }, (_, at) => ({ [at.toString(36)]: 0 }));
const dense = { type: "function", function: { name: "a", parameters: { enum: values } } };
const shown = [{ type: "image_url", image_url: { url: dataUri } }];

const chats: Sent[] = [
  { name: "text", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(text) }) },
  { name: "wide text", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(wideText) }) },
  { name: "an image", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(shown), stream: true }) },
  { name: "wide text", path: "/openai/v1/chat/completions", body: toJson({ ...chat, model: "gpt-5", messages: ask(wideText) }) },
  { name: "text", path: "/openai/v1/responses", body: toJson({ ...response, input: text, stream: true }) },
  { name: "many values", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(text.slice(600_000)), tools: [dense] }) },
  {
    name: "an image",
    path: "/openai/v1/responses",
    body: toJson({ ...response, input: ask([{ type: "input_image", image_url: dataUri }]) }),
  },
];

const counts = [1, 5, 10];

/** Sends each body one, five and ten times at once, each time for another account, and prints what the isolates held. */
export async function measureBodies(): Promise<void> {
  for (const bodies of [forms, chats]) await sendAll(bodies);
}

async function sendAll(bodies: Sent[]): Promise<void> {
  const { server, client, must, measure } = await startMeasured({ hasOpenai: true, heapMB });
  await measure(async () => {
    const keys = await Promise.all(Array.from({ length: Math.max(...counts) }, (_, at) => freshHeaders(client, `bench-${at}@example.com`)));
    for (const one of bodies) {
      for (const count of counts) {
        const title = `${one.path}, ${one.name} of ${(one.body.length / MiB).toFixed(1)} MiB, ${count} at once`;
        const work = () =>
          Promise.all(keys.slice(0, count).map((key) => send(server.url + one.path, one.body, { headers: { ...key, ...one.headers } })));
        const { result, maxMiB: behind } = await heapDuring(server.openaiInspectorUrl, () => heapDuring(server.inspectorUrl, work));
        const { result: answers, maxMiB: front } = result;
        const statuses = answers.map((answer) => answer?.status ?? 0);
        console.log(`${title}: OpenAI Worker ${behind} MiB at most, gateway ${front} MiB; ${statuses.join(", ")}`);
        must(Math.max(behind, front) < heapMB, `${title}: an isolate held ${Math.max(behind, front)} MiB, not below ${heapMB}`);
        must(
          answers.every((answer) => isRight(answer, count)),
          `${title}: an answer is neither 200 nor 503 with Retry-After`,
        );
        must(statuses.includes(200), `${title}: none was accepted`);
      }
    }
  });
}
