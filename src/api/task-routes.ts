/** Selects the routes that support a submission. */

import type { Model } from "../catalog/models.ts";
import { type Route, routesFor } from "../catalog/routes.ts";
import { isLocal, pricesAndRoutes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { isOn, providerNamed, unhealthyLast } from "../providers/index.ts";
import { toRequest } from "../tasks/job.ts";
import type { Submission } from "../tasks/record.ts";

type Wanted = Parameters<typeof toRequest>[0];

/**
 * Returns the routes that support the request, those of unhealthy provider accounts last. Throws if no route supports it, with the name of
 * the unsupported field, and if the first route would refuse the prompt because of its content.
 */
export function usableRoutes(env: Env, model: Model, wanted: Wanted): Route[] {
  const routes = routesFor(model.id, pricesAndRoutes(env).routes, (provider) => isOn(env, provider), isLocal(env));
  const unsupported = routes.map((route) => providerNamed(env, route.provider).unsupportedField?.(toRequest(wanted, route)));
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

/** The body's field with the images, for the error if no route supports them. */
function imagesField(
  { parameters: p, inputs, characters }: Pick<Submission, "parameters" | "inputs" | "characters">,
  model: Model,
): string {
  if (inputs.length === 0 && characters.length > 0) return "prompt";
  if (p.image_with_roles) return "image_with_roles";
  if (!model.id.startsWith("vidD")) return "images";
  return p.last_frame_image === undefined ? "metadata.first_frame_image" : "metadata.last_frame_image";
}
