/** Selects the routes that support a submission. */

import type { Model, Route } from "../../catalog/models.ts";
import { routesFor } from "../../catalog/routes.ts";
import { isLocal } from "../../config.ts";
import { ApiError } from "../../base/errors.ts";
import { isOn, providerNamed, unhealthyLast } from "../../providers/index.ts";
import type { GenerationRequest, Provider } from "../../providers/provider.ts";
import { toRequest } from "../../tasks/request.ts";
import type { Submission } from "../../tasks/record.ts";

type Wanted = Parameters<typeof toRequest>[0];

/** The order in which a request tries a model's routes: for one without images some of them may come first. */
function inOrder(routes: Route[], { inputs, characters }: Wanted): Route[] {
  if (inputs.length > 0 || characters.length > 0) return routes;
  return [...routes.filter((route) => route.first_without_images), ...routes.filter((route) => !route.first_without_images)];
}

/**
 * Returns the routes that support the request, those of unhealthy provider accounts last. Throws if no route supports it, with the name of
 * the unsupported field, and if the first route would refuse the prompt because of its content.
 */
export function usableRoutes(env: Env, model: Model, wanted: Wanted): Route[] {
  const all = routesFor(model, (provider) => isOn(env, provider), isLocal(env));
  const routes = inOrder(all, wanted);
  const unsupported = routes.map((route) => findUnsupported(providerNamed(env, route.provider), toRequest(wanted, route)));
  const usable = routes.filter((_, at) => unsupported[at] === undefined);
  const [first] = usable;
  if (!first) {
    const found = unsupported.find((field) => field !== undefined && field !== "model");
    const param = found === "images" ? imagesField(wanted, model) : found;
    throw param === undefined
      ? new ApiError("model_not_available", { violations: [{ param: "model", rule: "model_not_available" }] })
      : new ApiError("unsupported_parameter", { violations: [{ param, rule: "unsupported_parameter" }] });
  }
  if (providerNamed(env, first.provider).refuses?.(toRequest(wanted, first).prompt)) throw new ApiError("content_policy_violation");
  return unhealthyLast(usable);
}

/** The field of the request that the provider does not support. */
function findUnsupported(provider: Provider, request: GenerationRequest): string | undefined {
  const { outputFormat: format, background } = request;
  if (request.input) return provider.takesOwnInput && request.label !== "on" ? undefined : "model";
  // Asked here and not of each adapter: one that does not know these options must not ignore them.
  const { formats, backgrounds } = provider.imageOutputs?.(request) ?? { formats: [], backgrounds: ["opaque"] };
  const unsupported = provider.unsupportedField?.(request);
  if (unsupported !== undefined) return unsupported;
  // The operator chose the label: no field of the caller's body could change that.
  if (!canLabel(provider, request)) return "model";
  if (format !== undefined && !formats.includes(format)) return "output_format";
  // JPEG has no transparency.
  const hasBackground =
    background === undefined || (backgrounds.includes(background) && !(background === "transparent" && format === "jpeg"));
  return hasBackground ? undefined : "background";
}

/** True if the route can do what the operator wants about visible labels. Asked here and not of each adapter, like the options above. */
function canLabel(provider: Provider, request: GenerationRequest): boolean {
  const found = request.label && provider.labelSwitch?.(request);
  return request.label === undefined || (request.label === "on" ? found !== undefined : found !== "always");
}

/** The body's field with the images, for the error if no route supports them. */
function imagesField(
  { parameters: p, inputs, characters }: Pick<Submission, "parameters" | "inputs" | "characters">,
  model: Model,
): string {
  if (inputs.length === 0 && characters.length > 0) return "prompt";
  if (p.image_with_roles) return "image_with_roles";
  if (!model.like.startsWith("vidD")) return "images";
  return p.last_frame_image === undefined ? "metadata.first_frame_image" : "metadata.last_frame_image";
}
