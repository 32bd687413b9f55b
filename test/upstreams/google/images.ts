/** `models/{model}:generateContent` of the Gemini API, for the image models. */

import { Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { image, makeFile } from "../files.ts";
import { answerTo, checkKey, checkImage, invalid, obeyAtStart, oneOf, onlyFields, Refused } from "./errors.ts";

const models = new Set(["gemini-3-pro-image", "gemini-3.1-flash-image", "gemini-nano-banana-2.1"]);
const ratios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

interface Request {
  contents?: { role?: string; parts?: { text?: string; inlineData?: { mimeType?: string; data?: string } }[] }[];
  generationConfig?: { responseModalities?: string[]; imageConfig?: { aspectRatio?: string; imageSize?: string } };
}

export const geminiImages = new Hono().post("/:version{v1|v1beta}/models/:call{[^/]+:generateContent}", async (c) => {
  const model = c.req.param("call").replace(":generateContent", "");
  let prompt = "";
  try {
    checkKey(c);
    const body = await c.req.json<Request>();
    prompt = body.contents?.[0]?.parts?.find(({ text }) => text)?.text ?? "";
    check(body);
    if (!models.has(model)) throw new Refused("NOT_FOUND", `models/${model} is not found for API version v1beta.`);
    obeyAtStart(prompt, model);
    record({ upstream: "google", call: "start", prompt, body: { ...body, model } });
    if (hasDirective(prompt, "drop")) throw new Dropped();
    return c.json({ ...answer(prompt, body), usageMetadata: {}, modelVersion: model, responseId: crypto.randomUUID() });
  } catch (error) {
    return answerTo(error, c, prompt);
  }
});

function check(body: Request): void {
  onlyFields(body, "", ["contents", "generationConfig", "safetySettings", "systemInstruction", "tools"]);
  if (!body.contents?.length) throw invalid("* GenerateContentRequest.contents: contents is not specified");
  for (const content of body.contents) {
    onlyFields(content, "contents", ["role", "parts"]);
    oneOf(content.role, "contents.role", ["user", "model"]);
    for (const part of content.parts ?? []) {
      onlyFields(part, "contents.parts", ["text", "inlineData"]);
      if (part.inlineData) {
        onlyFields(part.inlineData, "inline_data", ["mimeType", "data"]);
        checkImage(part.inlineData.data, part.inlineData.mimeType, "inline_data");
      }
    }
  }
  const config = onlyFields(body.generationConfig ?? {}, "generation_config", ["responseModalities", "imageConfig", "candidateCount"]);
  const image = onlyFields(config["imageConfig"] ?? {}, "image_config", ["aspectRatio", "imageSize", "personGeneration"]);
  oneOf(image["aspectRatio"], "aspect_ratio", ratios);
  oneOf(image["imageSize"], "image_size", ["1K", "2K", "4K"]);
  for (const modality of body.generationConfig?.responseModalities ?? []) oneOf(modality, "response_modalities", ["TEXT", "IMAGE"]);
}

function inline(prompt: string, width: number, height: number) {
  const { type, bytes } = makeFile(prompt, "image", () => image(width, height));
  return { inlineData: { mimeType: type, data: Buffer.from(bytes).toString("base64") } };
}

function answer(prompt: string, body: Request): object {
  const ended = (finishReason: string, parts: object[] = []) => ({
    candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }],
  });
  if (hasDirective(prompt, "moderated")) return { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
  // The first image of a prompt is made, later ones are blocked.
  if (prompt.includes("[first") && !hasDirective(prompt, "first")) return ended("IMAGE_SAFETY");
  const reason = ["IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "RECITATION", "NO_IMAGE"].find((word) => hasDirective(prompt, word));
  if (reason) return { candidates: [{ finishReason: reason, index: 0 }] };
  if (hasDirective(prompt, "words")) return ended("STOP", [{ text: "I would rather talk." }]);
  const scale = body.generationConfig?.imageConfig?.imageSize === "2K" ? 2 : 1;
  const made = hasDirective(prompt, "large") ? inline(prompt, 2048, 1024) : inline(prompt, 64 * scale, 64 * scale);
  const draft = { ...inline("", 8, 8), thought: true };
  return ended(
    "STOP",
    hasDirective(prompt, "thought") ? [{ text: "Let me think.", thought: true }, draft, { text: "Here." }, made] : [made],
  );
}
