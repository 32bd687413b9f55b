/** Converts between Workers AI's text models and OpenAI's format: the input, a whole answer, an event stream. */

import { parseResult } from "./answers.ts";
import { ProviderError } from "../provider.ts";

interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
}

/** An answer or one of its events, in Workers AI's own format or in OpenAI's, depending on the model. */
interface Answer {
  response?: string | object | null;
  tool_calls?: { id?: string; name?: string; arguments?: unknown; function?: object }[] | null;
  usage?: Usage | null;
  choices?: unknown[];
  error?: unknown;
}

/** The answer's token limit: the request always has one. */
const maxTokens = (body: Record<string, unknown>) => Number(body["max_completion_tokens"] ?? body["max_tokens"]);

/** Third-party models, and the hosted models of these makers, use OpenAI's format (workers-types: `ChatCompletionsInput`). */
const speaksOpenAi = (model: string) => !model.startsWith("@cf/") || /^@cf\/(?:openai|zai-org|moonshotai)\//.test(model);

/** OpenAI's body in the format of `run`. Other hosted models always report their usage. */
export function toInput({ model, stream_options: options, ...input }: Record<string, unknown>): Record<string, unknown> {
  return { ...input, ...(options !== undefined && speaksOpenAi(String(model)) && { stream_options: options }) };
}

const chatId = () => `chatcmpl-${crypto.randomUUID()}`;
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Workers AI sends arguments as objects, and no ids. */
const toToolCalls = (calls: NonNullable<Answer["tool_calls"]>) =>
  calls.map(({ id, name, arguments: given, function: called }, index) => ({
    index,
    id: id ?? `call_${crypto.randomUUID()}`,
    type: "function",
    function: called ?? { name, arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}) },
  }));

const toText = (response: Answer["response"]) =>
  typeof response === "string" ? response : response === null || response === undefined ? "" : JSON.stringify(response);

/** A whole answer. */
export function toCompletion(value: unknown, body: Record<string, unknown>): object {
  const result = parseResult(value);
  if ("failed" in result) throw new ProviderError(result.failed.code === "provider_error" ? "unclear" : "content", "chat: failed");
  const answer: Answer = result.fields;
  if (Array.isArray(answer.choices)) return answer;
  if (answer.response === undefined && !answer.tool_calls?.length)
    throw new ProviderError("unclear", "chat: neither response nor tool_calls");
  const calls = answer.tool_calls?.length ? toToolCalls(answer.tool_calls).map(({ index: _index, ...call }) => call) : undefined;
  return {
    id: chatId(),
    object: "chat.completion",
    created: nowSeconds(),
    model: body["model"],
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: toText(answer.response), ...(calls && { tool_calls: calls }) },
        finish_reason: calls ? "tool_calls" : isCut(answer.usage, body) ? "length" : "stop",
      },
    ],
    ...(answer.usage && { usage: toUsage(answer.usage) }),
  };
}

/** The upstream does not report why it stopped. */
const isCut = (usage: Usage | null | undefined, body: Record<string, unknown>) => (usage?.completion_tokens ?? 0) >= maxTokens(body);

const toUsage = ({ prompt_tokens: prompt = 0, completion_tokens: completion = 0, total_tokens: total }: Usage): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total ?? prompt + completion,
});

/** A stream of events. It ends without `[DONE]` if the upstream's does. */
export function toEventStream(stream: ReadableStream<Uint8Array>, request: Record<string, unknown>): Response {
  const body = stream.pipeThrough(new TextDecoderStream()).pipeThrough(converter(request)).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function converter(request: Record<string, unknown>): TransformStream<string, string> {
  const common = { id: chatId(), object: "chat.completion.chunk", created: nowSeconds(), model: request["model"] };
  let rest = "";
  let usage: Usage | undefined;
  let isOpenAi = false;
  let hasCalls = false;
  let hasBegun = false;
  const chunk = (more: object) => `data: ${JSON.stringify({ ...common, ...more })}\n\n`;
  const delta = (content: object) => {
    const role = hasBegun ? {} : { role: "assistant" };
    hasBegun = true;
    return chunk({ choices: [{ index: 0, delta: { ...role, ...content }, finish_reason: null }] });
  };
  const end = () => {
    const reason = hasCalls ? "tool_calls" : isCut(usage, request) ? "length" : "stop";
    const last = chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
    return last + (usage ? chunk({ choices: [], usage: toUsage(usage) }) : "");
  };
  const convert = (data: string): string => {
    if (data === "[DONE]") return `${isOpenAi ? "" : end()}data: [DONE]\n\n`;
    const event = parsed(data);
    if (event.error || Array.isArray(event.choices)) {
      isOpenAi = true;
      return `data: ${data}\n\n`;
    }
    // Usage reports are cumulative; the last one is the total.
    if (event.usage) usage = event.usage;
    const text = toText(event.response);
    const calls = event.tool_calls?.length ? toToolCalls(event.tool_calls) : undefined;
    hasCalls ||= calls !== undefined;
    return (text === "" ? "" : delta({ content: text })) + (calls ? delta({ tool_calls: calls }) : "");
  };
  return new TransformStream({
    transform(part, controller) {
      const lines = (rest + part).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.startsWith("data:")) controller.enqueue(convert(line.slice(5).trim()));
        else if (line.startsWith(":")) controller.enqueue(":\n\n");
    },
    flush(controller) {
      if (rest.startsWith("data:")) controller.enqueue(convert(rest.slice(5).trim()));
    },
  });
}

function parsed(data: string): Answer {
  try {
    return JSON.parse(data) as Answer;
  } catch (error) {
    throw new ProviderError("unclear", "chat: an event is not JSON", { cause: error });
  }
}
