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
import { imageModel } from "./image.js";
import { videoModel } from "./video.js";

export interface GatewaySettings {
  /** The gateway's URL without `/v1`. */
  baseURL: string;
  apiKey: string;
  fetch?: typeof globalThis.fetch;
}

export interface GatewayProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  languageModel(modelId: string): LanguageModelV4;
  image(modelId: string): ImageModelV4;
  imageModel(modelId: string): ImageModelV4;
  video(modelId: string): VideoModelV4;
  videoModel(modelId: string): VideoModelV4;
}

/** The models of a gateway, called with an API key. */
export function createGenerationGateway({ baseURL, apiKey, fetch = globalThis.fetch }: GatewaySettings): GatewayProvider {
  const origin = baseURL.replace(/\/+$/, "");
  const api = new GatewayApi(origin, apiKey, fetch);
  const text = createOpenAICompatible({ name: "generationGateway", baseURL: `${origin}/v1`, apiKey, fetch, includeUsage: true });
  const languageModel = (modelId: string) => text.chatModel(modelId);
  const image = (modelId: string) => imageModel(api, modelId);
  const video = (modelId: string) => videoModel(api, modelId);
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
