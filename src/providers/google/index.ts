/** Google as a provider: images and Omni videos by the Gemini API, Veo videos by Vertex AI. The route's model id selects one. */

import { geminiImages } from "./images.ts";
import { omniVideos } from "./omni.ts";
import { veoVideos } from "./veo.ts";
import { type GoogleSettings, type Handle, parseHandle, type Part } from "./part.ts";
import { ownFailure, type Provider, ProviderError } from "../provider.ts";

const geminiBaseUrl = "https://generativelanguage.googleapis.com";

/** Reads the settings from the environment; undefined if none of Google's parts is switched on. */
export function googleSettings(env: Env): GoogleSettings | undefined {
  const { GEMINI_API_KEY: key, GOOGLE_SERVICE_ACCOUNT: serviceAccount, VERTEX_BASE_URL: baseUrl } = env;
  const settings: GoogleSettings = {
    ...(key && { gemini: { key, baseUrl: env.GEMINI_BASE_URL || geminiBaseUrl } }),
    ...(serviceAccount && baseUrl && { vertex: { serviceAccount, baseUrl } }),
  };
  return settings.gemini || settings.vertex ? settings : undefined;
}

const isVertex = (model: string) => model.startsWith("veo-");

/** The account that serves a model: a Gemini key and a Vertex account fail independently. */
export const googleAccount = (model: string) => (isVertex(model) ? "google vertex" : "google gemini");

export function google({ gemini, vertex }: GoogleSettings): Provider {
  const parts: Record<"images" | Handle["part"], Part | undefined> = {
    images: gemini && geminiImages(gemini),
    omni: gemini && omniVideos(gemini),
    veo: vertex && veoVideos(vertex),
  };
  const partFor = (model: string) => parts[isVertex(model) ? "veo" : model.includes("omni") ? "omni" : "images"];
  const accepted = (operation: string): { part: Part; handle: Handle } => {
    const handle = parseHandle(operation);
    const part = handle && parts[handle.part];
    if (!part) throw new ProviderError("unreachable", "GEMINI_API_KEY or GOOGLE_SERVICE_ACCOUNT of the task is no longer set");
    return { part, handle };
  };

  return {
    name: "google",
    repeatable: false,
    answersWhenDone: ({ kind }) => kind === "image",
    // An image takes a few seconds to a minute, and several are generated one after the other; for a video the start only waits for the
    // acceptance.
    startTimeoutMs: (kind) => (kind === "image" ? 100_000 : 120_000),
    reportsProgress: false,

    unsupportedField(request) {
      const part = partFor(request.model);
      return part ? part.unsupportedField(request) : "model";
    },

    async start(job, signal) {
      const part = partFor(job.model);
      if (!part) throw new ProviderError("refused", "start: the model needs GEMINI_API_KEY or GOOGLE_SERVICE_ACCOUNT");
      return part.start(job, signal);
    },

    async poll(operation) {
      const { part, handle } = accepted(operation);
      if (!part.poll) return ownFailure;
      return part.poll(handle);
    },

    async cancel(operation) {
      const { part, handle } = accepted(operation);
      return (await part.cancel?.(handle)) ?? false;
    },
  };
}
