/** Requests of chats, which have no idempotency key: the SDK must not repeat one that may be done. */

import { APICallError } from "@ai-sdk/provider";

/** Faults of connections that were never made. */
const unsent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

const note = "the chat may be done and paid for";

/**
 * `fetch` whose faults the SDK repeats only if no connection was made or the gateway itself says that it is busy. Nothing else says that the work
 * was not done.
 */
export function fetchOnce(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const toLost = (error: unknown) => {
      const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
      if (init?.signal?.aborted || name === "AbortError" || unsent.has(cause?.code ?? "")) return error;
      // Without the cause: the SDK looks for lost connections in it, and repeats those.
      return new Error(`No whole answer arrived (${cause?.message ?? message}): ${note}.`);
    };
    const response = await fetch(input, init).catch((error: unknown) => {
      throw toLost(error);
    });
    if (response.status < 500) return new Response(response.body && mapErrors(response.body, toLost), response);
    const responseBody = await response.text();
    if (response.status === 503 && isGateways(responseBody)) return new Response(responseBody, response);
    const { status: statusCode, headers } = response;
    throw new APICallError({
      message: `HTTP ${statusCode}: ${note}.`,
      url: String(input instanceof Request ? input.url : input),
      requestBodyValues: undefined,
      statusCode,
      responseHeaders: Object.fromEntries(headers),
      responseBody,
      isRetryable: false,
    });
  };
}

/** The same bytes, and for an error another one. */
function mapErrors(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  change: (error: unknown) => unknown,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(change(error));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** True for an error of the gateway's. */
function isGateways(text: string): boolean {
  try {
    return (JSON.parse(text) as { error: { code?: string } }).error.code !== undefined;
  } catch {
    return false;
  }
}
