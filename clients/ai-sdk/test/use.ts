/** A program that uses the package, run by test/packages. */

import { experimental_generateVideo as generateVideo, generateImage, generateText, streamText } from "ai";
import { createGenerationGateway } from "generation-gateway-ai-sdk";

const { GATEWAY_URL: baseURL = "", GATEWAY_KEY: apiKey = "" } = process.env;
const gateway = createGenerationGateway({ baseURL, apiKey });

const { text, usage } = await generateText({ model: gateway("textA-1"), prompt: "Name a lighthouse." });
const streamed: string[] = [];
for await (const part of streamText({ model: gateway("textA-1-mini"), prompt: "Name a lighthouse." }).textStream) streamed.push(part);

const made = await generateImage({
  model: gateway.image("imgA-4"),
  prompt: `A lighthouse ${crypto.randomUUID()}`,
  n: 2,
  aspectRatio: "16:9",
  seed: 7,
});
const { images } = made.providerMetadata["generationGateway"] as unknown as { images: { charged: number }[] };
const { video } = await generateVideo({
  model: gateway.video("vidC-1-0-pro-fast"),
  prompt: "A lighthouse",
  duration: 2,
  resolution: "1280x720",
});

const refused = await generateImage({ model: gateway.image("imgA-4"), prompt: "a", aspectRatio: "5:4" }).catch((error: unknown) => error);
const failed = await generateImage({ model: gateway.image("imgA-4"), prompt: "sandbox:flag" }).catch((error: unknown) => error);

console.log(
  JSON.stringify({
    text: text.length > 0 && (usage.outputTokens ?? 0) > 0,
    streamed: streamed.join("").length > 0,
    images: {
      count: made.images.length,
      types: made.images.map(({ mediaType }) => mediaType),
      charged: images.reduce((sum, { charged }) => sum + charged, 0),
      warnings: made.warnings.flatMap((warning) => ("feature" in warning ? warning.feature : [])),
    },
    video: { type: video.mediaType, bytes: video.uint8Array.length > 10_000 },
    refused: (refused as { statusCode?: number }).statusCode,
    failed: failed instanceof Error && failed.message.startsWith("content_policy_violation"),
  }),
);
