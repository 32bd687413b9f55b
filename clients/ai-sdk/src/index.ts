/** Provider of the generation gateway for the AI SDK: `generateImage`, `generateVideo`, `generateText` and functions based on them. */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  type Experimental_VideoModelV4 as VideoModelV4,
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
} from "@ai-sdk/provider";
import { GatewayApi } from "./api.js";
import { fetchOnce } from "./chat.js";
import { imageModel } from "./image.js";
import { videoModel } from "./video.js";

export interface GatewaySettings {
  /** The gateway's URL, with or without `/v1`. Defaults to the variable `GATEWAY_URL`. */
  baseURL?: string;
  /** Defaults to the variable `GATEWAY_KEY`. */
  apiKey?: string;
  /** Milliseconds until an attempt to submit, to ask for a task or to get the next part of a file is given up. Default 120,000. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
}

/** The gateway's own fields for every call of a model; those in a call's `providerOptions.generationGateway` come first. */
export interface ModelSettings {
  quality?: "standard" | "hd";
  /** Settings of the model: `resolution`, `style`, `watermark` ... */
  metadata?: Record<string, unknown>;
  /** Balance units: a call that would cost more is refused. */
  max_cost?: number;
  /** Your own name for the tasks. */
  reference?: string;
  store?: boolean;
  /** Where the files are delivered as well. */
  deliver_to?: { destination: string; prefix?: string } | { url: string };
}

export interface GatewayProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  languageModel(modelId: string): LanguageModelV4;
  image(modelId: string, settings?: ModelSettings): ImageModelV4;
  imageModel(modelId: string, settings?: ModelSettings): ImageModelV4;
  video(modelId: string, settings?: ModelSettings): VideoModelV4;
  videoModel(modelId: string, settings?: ModelSettings): VideoModelV4;
}

/** The models of a gateway, called with an API key. */
export function createGenerationGateway(settings: GatewaySettings = {}): GatewayProvider {
  const { baseURL = variable("GATEWAY_URL"), apiKey = variable("GATEWAY_KEY"), fetch = globalThis.fetch, timeout = 120_000 } = settings;
  if (!baseURL || !apiKey) throw new TypeError("baseURL or apiKey is missing, as an option and as GATEWAY_URL or GATEWAY_KEY.");
  const origin = baseURL.replace(/\/+$/, "").replace(/\/v1$/, "");
  const api = new GatewayApi(origin, apiKey, fetch, timeout);
  const text = createOpenAICompatible({
    name: "generationGateway",
    baseURL: `${origin}/v1`,
    apiKey,
    fetch: fetchOnce(fetch),
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const languageModel = (modelId: string) => text.chatModel(modelId);
  const image = (modelId: string, fields: ModelSettings = {}) => imageModel(api, modelId, fields);
  const video = (modelId: string, fields: ModelSettings = {}) => videoModel(api, modelId, fields);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: "v4" as const,
    languageModel,
    image,
    imageModel: image,
    video,
    videoModel: video,
    embeddingModel: (modelId: string): never => {
      throw new NoSuchModelError({ modelId, modelType: "embeddingModel" });
    },
  });
}

const variable = (name: string): string | undefined =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
