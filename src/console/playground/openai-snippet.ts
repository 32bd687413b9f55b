/** A request as a program with OpenAI's own client for JavaScript. Typed text is always quoted as a value. Pure. */

import { imagePixels } from "../../catalog/fields.ts";
import type { Action } from "../../catalog/models.ts";
import { ImageFile } from "./image-file.ts";
import { hasImages } from "./snippets.ts";

interface OpenAiProgram {
  /** The gateway's URL without a trailing slash. */
  base: string;
  action: Action;
  /** The same as for the gateway's own API. */
  body: Record<string, unknown>;
  /** The source of a remix. */
  source?: string | undefined;
}

type Body = Record<string, unknown>;

/** A value as JSON, with an expression for each image. */
function literal(value: unknown): string {
  const mark = crypto.randomUUID();
  const images: string[] = [];
  const text = JSON.stringify(value, (_, item: unknown) => (item instanceof ImageFile ? (images.push(dataUri(item)), mark) : item), 2);
  return text.replaceAll(`"${mark}"`, () => images.shift() ?? "");
}

const dataUri = ({ name, type }: ImageFile) => `\`data:${type};base64,\${readFileSync(${JSON.stringify(name)}, "base64")}\``;

/** An image in the form that the client accepts: a file, or the response to a request for it. */
const upload = (image: unknown) =>
  image instanceof ImageFile ? `createReadStream(${JSON.stringify(image.name)})` : `await fetch(${JSON.stringify(image)})`;

/** The images in all lists of a body. */
const imagesIn = ({ images = [], image_with_roles: listed = [] }: Body): unknown[] => [
  ...(images as unknown[]),
  ...(listed as { url: unknown }[]).map(({ url }) => url),
];

/** An object with values as JSON, and with expressions. */
function object(values: Body, expressions: Record<string, string> = {}): string {
  const lines = [
    ...Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [`  ${name}: ${literal(value).replaceAll("\n", "\n  ")},`],
    ),
    ...Object.entries(expressions).map(([name, code]) => `  ${name}: ${code},`),
  ];
  return `{\n${lines.join("\n")}\n}`;
}

/** A comment with the fields that OpenAI's API does not have. */
const left = (body: Body, carried: string[]) => {
  const names = Object.keys(body).filter((name) => !carried.includes(name));
  return names.length === 0 ? "" : `// Not part of OpenAI's API: ${names.join(", ")}\n`;
};

function image(body: Body): string {
  const { model, prompt, n, size, quality } = body;
  const [width, height] = imagePixels[String(size)] ?? [];
  const values = { model, prompt, n, size: width === undefined ? undefined : `${width}x${height}`, quality, response_format: "url" };
  const images = imagesIn(body);
  const call = images.length === 0 ? "generate" : "edit";
  const expressions = images.length === 0 ? {} : { image: `[${images.map(upload).join(", ")}]` };
  return `const answer = await client.images.${call}(${object(values, expressions)});
for (const { url } of answer.data) console.log(url);
`;
}

const waitAndSave = `while (video.status !== "completed" && video.status !== "failed") {
  await new Promise((wait) => setTimeout(wait, 2000));
  video = await client.videos.retrieve(video.id);
}
if (video.error) throw new Error(video.error.message);
const file = await client.videos.downloadContent(video.id);
await writeFile(\`\${video.id}.mp4\`, file.body);
`;

function video(body: Body): string {
  const { model, prompt, duration, size } = body;
  const [first, ...others] = imagesIn(body);
  const seconds = typeof duration === "number" ? String(duration) : undefined;
  const expressions: Record<string, string> = first === undefined ? {} : { input_reference: upload(first) };
  const missing = left(body, ["model", "prompt", "duration", "size", "images", "image_with_roles"]);
  const roles = others.length > 0 ? "// OpenAI's API takes one image: the first frame.\n" : "";
  return `${missing}${roles}let video = await client.videos.create(${object({ model, prompt, seconds, size }, expressions)});
${waitAndSave}`;
}

/** The program. It reads the key from `API_KEY`, and prints text and URLs or saves the video. */
export function openaiSnippet({ base, action, body, source = "" }: OpenAiProgram): string {
  const hasFiles = imagesIn(body).some((one) => one instanceof ImageFile);
  const isRead = action === "chat" && hasImages(body);
  const imports = [
    ...(isRead ? [`import { readFileSync } from "node:fs";\n`] : []),
    ...(hasFiles ? [`import { createReadStream } from "node:fs";\n`] : []),
    ...(action === "video" || action === "remix" ? [`import { writeFile } from "node:fs/promises";\n`] : []),
    `import OpenAI from "openai";\n`,
  ];
  const start = `// npm install openai
// API_KEY=sk-... node generate.mjs
${imports.join("")}
const client = new OpenAI({ baseURL: ${JSON.stringify(`${base}/openai/v1`)}, apiKey: process.env.API_KEY });

`;
  switch (action) {
    case "chat":
      return `${start}const answer = await client.chat.completions.create(${literal(body)});
console.log(answer.choices[0].message.content);
`;
    case "image":
      return start + image(body);
    case "video":
      return start + video(body);
    case "remix":
      return `${start}${left(body, ["model", "prompt"])}let video = await client.videos.remix(${JSON.stringify(source)}, ${object({ prompt: body["prompt"] })});
${waitAndSave}`;
    case "file":
      return "// OpenAI's API has no call for this model: use one of the other programs.\n";
    case "character":
      return "// OpenAI's API has no call that makes a character of an earlier video: use one of the other programs.\n";
  }
}
