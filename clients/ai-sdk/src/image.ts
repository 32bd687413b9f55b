/** `generateImage`: submits and returns the task's files. */

import { APICallError, type ImageModelV4, type SharedV4Warning } from "@ai-sdk/provider";
import { failure, type GatewayApi, ownFields, toImage, toResponse } from "./api.js";

/** The gateway's ratios by their size in pixels; it refuses other sizes. */
const ratios: Record<string, string> = {
  "1024x1024": "1:1",
  "1792x1024": "16:9",
  "1024x1792": "9:16",
  "1365x1024": "4:3",
  "1024x1365": "3:4",
  "1536x1024": "3:2",
  "1024x1536": "2:3",
};

export function imageModel(api: GatewayApi, modelId: string, settings: object): ImageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "generationGateway",
    modelId,
    maxImagesPerCall: 4,
    supportsFileInputs: true,
    async doGenerate({ prompt, n, size, aspectRatio, seed, files, mask, providerOptions, ...options }) {
      const warnings: SharedV4Warning[] = [];
      if (seed !== undefined) warnings.push({ type: "unsupported", feature: "seed" });
      if (mask !== undefined) warnings.push({ type: "unsupported", feature: "mask" });
      const ratio = aspectRatio ?? (size && (ratios[size] ?? size));
      const images = files?.map(toImage);
      const body = {
        model: modelId,
        prompt,
        n,
        ...(ratio && { size: ratio }),
        ...(images?.length && { images }),
        ...ownFields(settings, providerOptions),
      };
      const id = await api.submit("/v1/images/generations", body, options);
      let task = await api.task(id, options, 30);
      while (task.status === "queued" || task.status === "in_progress") task = await api.task(id, options, 30);
      if (!task.result?.images)
        throw new APICallError({
          message: failure(task),
          url: `${api.origin}/v1/tasks/${id}`,
          requestBodyValues: body,
          isRetryable: false,
        });
      const urls = task.result.images.flatMap(({ url }) => url);
      return {
        images: await Promise.all(urls.map((url) => api.file(url, options.abortSignal))),
        warnings,
        // The SDK keeps only the metadata of each image.
        providerMetadata: {
          generationGateway: { images: urls.map((url) => ({ url, taskId: id, charged: (task.cost.charged ?? 0) / urls.length })) },
        },
        response: toResponse(task.model),
      };
    },
  };
}
