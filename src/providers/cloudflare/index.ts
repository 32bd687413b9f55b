/** Cloudflare's models as a provider: Workers AI and the third-party catalogue behind one call that answers when the work is done. */

import { type Made, madeReading, ownReading } from "./answers.ts";
import { bindingClient, type Client, isHosted, restClient } from "./client.ts";
import { videoFamilies } from "./videos.ts";
import { imageFamilies } from "./images.ts";
import { type Family, toDataUri } from "./inputs.ts";
import { madeAt, makeSeveral, outputAt } from "../shared/http.ts";
import { readOwnAnswer, writeOwnInput } from "../shared/own-input.ts";
import {
  type Failed,
  type InputImage,
  type Job,
  type Provider,
  ProviderError,
  type Succeeded,
  type GenerationRequest,
} from "../provider.ts";

const defaultBase = "https://api.cloudflare.com/client/v4";

/** The settings that switch the provider on: the binding, or an account and its token. */
export interface CloudflareSettings {
  AI?: Pick<Ai, "run" | "models"> | undefined;
  WORKERS_AI_BASE_URL?: string | undefined;
  WORKERS_AI_ACCOUNT_ID?: string | undefined;
  WORKERS_AI_API_TOKEN?: string | undefined;
}

/** The provider; it uses the binding if there is one. undefined if it is not configured. */
export function cloudflare(settings: CloudflareSettings): Provider | undefined {
  const { AI, WORKERS_AI_BASE_URL: base = defaultBase, WORKERS_AI_ACCOUNT_ID: account, WORKERS_AI_API_TOKEN: token } = settings;
  if (AI) return providerBehind(bindingClient(AI));
  return account && token ? providerBehind(restClient(base, account, token)) : undefined;
}

const findFamily = ({ kind, model }: Pick<GenerationRequest, "kind" | "model">): Family | undefined =>
  [...imageFamilies, ...videoFamilies].find((family) => family.kind === kind && family.ids.test(model));

const providerBehind = (client: Client): Provider => ({
  name: "cloudflare",
  repeatable: false,
  reportsProgress: false,
  takesOwnInput: true,
  answersWhenDone: () => true,
  // One start makes several images. For a video, one of the task's ten minutes remains for storing it.
  startTimeoutMs: (kind) => (kind === "image" ? 100_000 : 540_000),

  unsupportedField(request) {
    const family = findFamily(request);
    return family ? family.unsupportedField(request) : "model";
  },

  labelSwitch: (request) => findFamily(request)?.labelSwitch,
  imageOutputs: (request) => findFamily(request)?.outputs,

  async start(job, signal) {
    if (job.input) return startOwn(client, job, signal);
    const family = findFamily(job);
    if (!family) throw new ProviderError("refused", "start: the route's model does not make this kind");
    const read = withinBytes();
    const characters = job.characters.map((character) => ({ ...character, image: read(character.image) }));
    const input = await family.input({ ...job, images: job.images.map(read), characters });
    const made = await makeSeveral(job.n, () => client.run(job.model, input, { signal, keep: job.keep, read: madeReading }));
    return Array.isArray(made) ? toSucceeded(made) : made;
  },

  poll(operation) {
    const { urls = [], own } = JSON.parse(operation) as { urls?: string[]; own?: object };
    return Promise.resolve(own ? readOwnAnswer(own, { takesTexts: true }) : madeAt({ urls }));
  },

  // It is not documented that the list has the models of other makers.
  lookUpModel: (model) => (isHosted(model) ? client.lookUp(model) : Promise.resolve({ gone: false })),

  chat: (request) => client.chat(request),
});

/** The longest answer that an operation can contain. */
const maxOwnAnswer = 32 * 1024;

/** One call with an own input. `poll` can read the answer again if no bytes were in it. */
async function startOwn(client: Client, job: Job, signal: AbortSignal): Promise<Succeeded | Failed> {
  const read = withinBytes();
  const input = await writeOwnInput(job, (image) => toDataUri(read(image)));
  const answer = await client.run(job.model, input, { signal, keep: job.keep, read: ownReading });
  if ("status" in answer) return answer;
  const { fields, kept } = answer;
  const made = readOwnAnswer(fields, { takesTexts: true, kept });
  // The call has ended, and is billed: another route must not repeat it.
  if (made.status === "failed") throw new ProviderError("unclear", "run: the answer has no file in its result");
  const own = JSON.stringify({ own: fields });
  return { ...made, ...(kept.size === 0 && own.length <= maxOwnAnswer && { operation: own }) };
}

/** A call of the binding may have 32 MiB, and an input is in memory completely. Base64 adds a third. */
const maxImageBytes = 22 * 1024 * 1024;

/** Limits the total size of a call's images. Other routes may accept more. */
function withinBytes(): (image: InputImage) => InputImage {
  let total = 0;
  return (image) => ({
    ...image,
    read: (use) =>
      image.read((read) => {
        total += read.bytes.byteLength;
        if (total > maxImageBytes) throw new ProviderError("refused", "start: the images have more than 22 MiB together");
        return use(read);
      }),
  });
}

/** The outputs. `poll` can return URLs again, but not bytes. */
function toSucceeded(made: Made[]): Succeeded {
  const urls = made.flatMap((one) => ("url" in one ? [one.url] : []));
  if (urls.length === made.length) return madeAt({ urls });
  return { status: "succeeded", outputs: made.map((one) => ("url" in one ? outputAt(one.url) : one.output)) };
}
