/** Cloudflare's models as a provider: Workers AI and the third-party catalogue behind one call that answers when the work is done. */

import type { Made } from "./answers.ts";
import { bindingClient, type Client, restClient } from "./client.ts";
import { filmFamilies } from "./videos.ts";
import { imageFamilies } from "./images.ts";
import type { Family } from "./inputs.ts";
import { outputAt, toOutput, several } from "../shared/http.ts";
import { promptWithNames } from "../shared/prompt.ts";
import { type InputImage, type Output, type Provider, ProviderError, type Succeeded, type GenerationRequest } from "../provider.ts";

const defaultBase = "https://api.cloudflare.com/client/v4";

/** The settings that switch it on: the binding, or an account and its token. */
export interface CloudflareSettings {
  AI?: Pick<Ai, "run"> | undefined;
  WORKERS_AI_BASE_URL?: string | undefined;
  WORKERS_AI_ACCOUNT_ID?: string | undefined;
  WORKERS_AI_API_TOKEN?: string | undefined;
}

/** The provider, through the binding where there is one; undefined when it is not set up. */
export function cloudflare(settings: CloudflareSettings): Provider | undefined {
  const { AI, WORKERS_AI_BASE_URL: base = defaultBase, WORKERS_AI_ACCOUNT_ID: account, WORKERS_AI_API_TOKEN: token } = settings;
  if (AI) return providerBehind(bindingClient(AI));
  return account && token ? providerBehind(restClient(base, account, token)) : undefined;
}

const findFamily = ({ kind, model }: Pick<GenerationRequest, "kind" | "model">): Family | undefined =>
  [...imageFamilies, ...filmFamilies].find((family) => family.kind === kind && family.ids.test(model));

const providerBehind = (client: Client): Provider => ({
  name: "cloudflare",
  repeatable: false,
  reportsProgress: false,
  // Several pictures are made in one start; a film leaves a minute of its task's ten to be stored in.
  startTimeoutMs: (kind) => (kind === "image" ? 100_000 : 540_000),

  unsupportedField(request) {
    const family = findFamily(request);
    if (!family) return "model";
    const field = family.unable(request);
    if (field !== undefined || request.characters.length === 0) return field;
    const pictures = request.characters.map(() => ({ role: "reference" as const }));
    return family.unable({ ...request, images: [...request.images, ...pictures] }) && "prompt";
  },

  async start(job, signal) {
    const family = findFamily(job);
    if (!family) throw new ProviderError("not a model of this kind", { retryable: false, nothingAccepted: true });
    const pictures = job.characters.map(({ picture }) => ({ ...picture, role: "reference" as const }));
    const images = withinBytes([...job.images, ...pictures]);
    const input = await family.input({ ...job, prompt: promptWithNames(job), images });
    const made = await several(job.n, () => client.run(job.model, input, signal));
    return Array.isArray(made) ? told(made) : made;
  },

  poll: (operation) => Promise.resolve(told((JSON.parse(operation) as { urls: string[] }).urls.map((url) => ({ url })))),

  chat: (request) => client.chat(request),
});

/** The binding's calls carry 32 MiB, and an input is in memory whole. A third more as Base64. */
const mostPictureBytes = 22 * 1024 * 1024;

/** The same pictures, that together are no more than it takes; others may take more. */
function withinBytes(images: InputImage[]): InputImage[] {
  let bytes = 0;
  return images.map((image) => ({
    ...image,
    read: (use) =>
      image.read((picture) => {
        bytes += picture.bytes.byteLength;
        if (bytes > mostPictureBytes)
          throw new ProviderError("start: more pictures than it takes", { retryable: false, nothingAccepted: true });
        return use(picture);
      }),
  }));
}

/** The outputs; URLs can be told again, bytes are all there is of them. */
function told(made: Made[]): Succeeded {
  const urls = made.flatMap((one) => ("url" in one ? [one.url] : []));
  return {
    status: "succeeded",
    outputs: made.map(outputOfMade),
    ...(urls.length === made.length && { operation: JSON.stringify({ urls }) }),
  };
}

function outputOfMade(made: Made): Output {
  if ("url" in made) return outputAt(made.url);
  if ("base64" in made) return toOutput(made.base64, "image/*");
  const { bytes } = made;
  return { open: () => Promise.resolve({ body: new Blob([bytes]).stream(), type: "image/*", length: bytes.byteLength }) };
}
