/** The two ways to Cloudflare's models: the `AI` binding, and the REST API for gateways without it. */

import { type Reading, verdictOn } from "./answers.ts";
import { toCompletion, toEventStream, toInput } from "./chat.ts";
import { toChatFault } from "../shared/chat-errors.ts";
import { ask, readJson, jsonPost } from "../shared/http.ts";
import { lookUp, toListed } from "../shared/listed.ts";
import { decodeBase64, readKept } from "../shared/kept.ts";
import { type Failed, type Job, type Provider, ProviderError } from "../provider.ts";

export interface Client {
  /** One call, which may take minutes; files in its answer are stored as they arrive. Throws `ProviderError`. */
  run<T>(
    model: string,
    input: Record<string, unknown>,
    to: { signal: AbortSignal; keep: Job["keep"]; read: Reading<T> },
  ): Promise<T | Failed>;
  chat: NonNullable<Provider["chat"]>;
  /** What Workers AI's list says of a model that Cloudflare hosts. Throws `ProviderError`. */
  lookUp: NonNullable<Provider["lookUpModel"]>;
}

/** A model of the list (developers.cloudflare.com/api/resources/ai/subresources/models/methods/list). */
interface Listed {
  name: string;
  properties?: { property_id: string; value: unknown }[];
}

/** The list is searched by the last part of a model's name. */
const toSearch = (model: string) => ({ search: model.split("/").at(-1) ?? model, per_page: 100 });

function findListed(model: string, all: readonly Listed[]) {
  const found = all.find(({ name }) => name === model);
  const end = found?.properties?.find(({ property_id }) => property_id === "planned_deprecation_date")?.value;
  return { gone: found === undefined, end };
}

/** Switches AI Gateway's cache off: a repeated prompt must generate another image. */
const thirdParty = { gateway: { id: "default", skipCache: true } };
export const isHosted = (model: string) => model.startsWith("@cf/");

interface Runner {
  run(model: string, input: object, options: object): Promise<unknown>;
}

export function bindingClient(ai: Pick<Ai, "run" | "models">): Client {
  const call = async (model: string, input: Record<string, unknown>, signal: AbortSignal): Promise<unknown> => {
    // The type lists only the models of its release date; ids come from the routes.
    return unlessAborted((ai as unknown as Runner).run(model, input, isHosted(model) ? {} : thirdParty), signal);
  };
  return {
    async run(model, input, { signal, keep, read }) {
      let value: unknown;
      try {
        value = await call(model, input, signal);
      } catch (error) {
        if (error instanceof ProviderError) throw error;
        const verdict = verdictOn({ message: error instanceof Error ? error.message : "" });
        if (verdict instanceof ProviderError) throw verdict;
        return verdict;
      }
      if (value instanceof ReadableStream) return read.file(await keep(value as ReadableStream<Uint8Array>));
      return read.answer(value, (text) => keep(decodeBase64(text)));
    },
    async chat({ body, stream, signal }) {
      const model = String(body["model"]);
      try {
        const value = await call(model, toInput(body), signal);
        if (value instanceof ReadableStream) return toEventStream(value, body);
        if (stream) throw new ProviderError("unclear", "chat: the answer is not a stream");
        return Response.json(toCompletion(value, body));
      } catch (error) {
        if (error instanceof ProviderError) throw error;
        throw chatFault(verdictOn({ message: error instanceof Error ? error.message : "" }));
      }
    },
    lookUp: async (model) => toListed(findListed(model, await ai.models(toSearch(model)))),
  };
}

export function restClient(base: string, account: string, token: string): Client {
  // Workers AI models can only be called through a named gateway (developers.cloudflare.com/ai-gateway/usage/rest-api).
  const headers = { authorization: `Bearer ${token}`, "cf-aig-gateway-id": "default", "cf-aig-skip-cache": "true" };
  const post = (path: string, body: object, signal: AbortSignal) =>
    ask(globalThis, `${base}/accounts/${account}/ai/${path}`, { ...jsonPost(body, headers), signal });
  return {
    async run(model, input, { signal, keep, read }) {
      const response = await post("run", { model, input }, signal);
      if (response.ok && response.body && /^(?:image|video|audio)\//.test(response.headers.get("content-type") ?? ""))
        return read.file(await keep(response.body));
      const { value, outputOf } = await readKept<Errors>(response, keep, read.isFileAt);
      // The answer of a failed run has a different envelope, with any status.
      const isVerdict = value?.state === "Failed" && response.status >= 500;
      if (isVerdict || (response.ok && value?.success !== false)) return read.answer(value, outputOf);
      const verdict = verdictOn(parseTrouble(value), response);
      if (verdict instanceof ProviderError) throw verdict;
      return verdict;
    },
    async chat({ body, signal }) {
      const response = await post("v1/chat/completions", body, signal);
      if (response.ok) return response;
      const value = await readJson<Errors>(response);
      const fault = chatFault(verdictOn(parseTrouble(value), response));
      throw fault.malformed && value?.error ? toChatFault(value.error, response) : fault;
    },
    lookUp(model) {
      const { search, per_page } = toSearch(model);
      const url = `${base}/accounts/${account}/ai/models/search?search=${encodeURIComponent(search)}&per_page=${per_page}`;
      return lookUp(url, { authorization: headers.authorization }, (answer) =>
        findListed(model, (answer as { result?: Listed[] | null }).result ?? []),
      );
    },
  };
}

/** `errors` is the API's list; `error` is OpenAI's object, or that of a failed run. */
interface Errors {
  success?: boolean;
  state?: string;
  errors?: { code?: number | string; message?: string }[] | null;
  error?: { code?: number | string | null; message?: string } | string | null;
}

function parseTrouble(value: Errors | undefined): { code?: string | number | undefined; message?: string | undefined } {
  const { errors, error } = value ?? {};
  if (typeof error === "string") return { message: error };
  const { code, message } = errors?.[0] ?? error ?? {};
  return { code: code ?? undefined, message };
}

const chatFault = (verdict: Failed | ProviderError) =>
  verdict instanceof ProviderError ? verdict : new ProviderError("content", "chat: refused");

/** Rejects when the signal aborts. The binding's call itself cannot be cancelled; its result is discarded. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new ProviderError("unreachable", "no answer in time"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
