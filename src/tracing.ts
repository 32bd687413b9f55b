/** Spans of the gateway's own steps in the platform's traces, with the names of OpenTelemetry's GenAI conventions. */

import { tracing } from "cloudflare:workers";
import type { Kind } from "./catalog/models.ts";

/** `provider` is a call of a provider: it has the name that the conventions give to a call of a model. */
type Step = "validate" | "reserve" | "dispatch" | "provider" | "store" | "settle";

/** What a span says about its work: no content, and nothing that identifies a caller. */
interface Attributes {
  kind: Kind | "chat";
  /** The public name; for a provider's call the provider's own. */
  model?: string;
  provider?: string;
  /** The id of the task or chat. */
  task?: string;
  /** Shared by the spans of a request: once one of them was not traced, no other is entered. */
  trace?: { isOff?: boolean };
}

/**
 * Does the work in a span; the platform ends it when the work's promise settles, and nests the platform's own spans in it. If the request is
 * not traced, this costs a call (https://developers.cloudflare.com/workers/observability/traces/).
 */
export function withSpan<T>(step: Step, { kind, model, provider, task, trace }: Attributes, work: () => T): T {
  if (trace?.isOff) return work();
  // The conventions have no name of their own for images and videos.
  const operation = kind === "chat" ? "chat" : "generate_content";
  return tracing.enterSpan(step === "provider" ? `${operation} ${model}` : step, (span) => {
    if (trace && !span.isTraced) trace.isOff = true;
    if (span.isTraced)
      span.setAttributes({
        "gen_ai.operation.name": operation,
        "gen_ai.output.type": outputTypes[kind],
        "gen_ai.request.model": model,
        // The conventions have names of their own for a few providers.
        "gen_ai.provider.name": provider === "google" ? "gcp.gen_ai" : provider,
        "gateway.task.id": task,
      });
    return work();
  });
}

const outputTypes: Record<Attributes["kind"], string> = {
  chat: "text",
  image: "image",
  video: "video",
  remix: "video",
  character: "image",
  file: "json",
};
