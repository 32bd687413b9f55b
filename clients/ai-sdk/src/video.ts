/** `generateVideo` by its start and status calls: the operation is the task's id, so that another process can continue with it. */

import type {
  Experimental_VideoModelV4 as VideoModelV4,
  Experimental_VideoModelV4CallOptions as VideoModelV4CallOptions,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { failure, type GatewayApi, ownFields, toImage, toResponse } from "./api.js";

export function videoModel(api: GatewayApi, modelId: string, settings: object): VideoModelV4 {
  return {
    specificationVersion: "v4",
    provider: "generationGateway",
    modelId,
    maxVideosPerCall: 1,
    // The gateway calls the URL when the task has ended; then the SDK asks for the status.
    async handleWebhookOption({ webhook }) {
      const { url, received } = await webhook();
      return { webhookUrl: url, received };
    },
    async doStart({ webhookUrl, ...call }) {
      const body = { ...toBody(modelId, settings, call), ...(webhookUrl !== undefined && { callback_url: webhookUrl }) };
      const id = await api.submit("/v1/videos/generations", body, call);
      return { operation: { taskId: id }, warnings: toWarnings(call), response: toResponse(modelId) };
    },
    async doStatus({ operation, ...options }) {
      const { taskId } = operation as { taskId: string };
      const task = await api.task(taskId, options);
      const response = toResponse(task.model);
      const providerMetadata = { generationGateway: { taskId, charged: task.cost.charged ?? 0 } };
      if (task.status === "failed") return { status: "error", error: failure(task), providerMetadata, response };
      if (task.status !== "completed") return { status: "pending", providerMetadata, response };
      // Downloaded here instead of by the SDK, which refuses the private addresses of a gateway on the developer's machine.
      const urls = (task.result?.videos ?? []).flatMap(({ url }) => url);
      const files = await Promise.all(urls.map((url) => api.file(url, options.abortSignal)));
      const videos = files.map((data) => ({ type: "binary" as const, data, mediaType: "video/mp4" }));
      return {
        status: "completed",
        videos,
        warnings: [],
        providerMetadata: { generationGateway: { ...providerMetadata.generationGateway, videos: urls.map((url) => ({ url })) } },
        response,
      };
    },
  };
}

function toBody(model: string, settings: object, call: VideoModelV4CallOptions): object {
  const { prompt, aspectRatio, resolution, duration, image, frameImages, inputReferences, providerOptions } = call;
  const roles = [
    ...(image ? [{ url: toImage(image), role: "first_frame" }] : []),
    ...(frameImages ?? []).map((frame) => ({ url: toImage(frame.image), role: frame.frameType })),
    ...(inputReferences ?? []).map((file) => ({ url: toImage(file), role: "reference" })),
  ];
  const own = ownFields(settings, providerOptions);
  const shortSide = resolution && Math.min(...resolution.split("x").map(Number));
  const metadata = { ...(shortSide && { resolution: `${shortSide}p` }), ...own.metadata };
  return {
    model,
    prompt,
    ...(aspectRatio !== undefined && aspectRatio !== "adaptive" && { size: aspectRatio }),
    ...(duration !== undefined && { duration }),
    ...(roles.length > 0 && { image_with_roles: roles }),
    ...own,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

function toWarnings({ fps, seed, generateAudio }: VideoModelV4CallOptions): SharedV4Warning[] {
  const given = { fps, seed, generateAudio };
  return Object.entries(given).flatMap(([feature, value]) => (value === undefined ? [] : [{ type: "unsupported" as const, feature }]));
}
