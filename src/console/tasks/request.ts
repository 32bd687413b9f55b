/** Rebuilds a task's request from its record, and submits it so that a double click runs it once. */

import type { ConsoleContext } from "../context.ts";
import { sha256Hex } from "../../base/ids.ts";
import type { Submission } from "../../tasks/record.ts";
import type { ModelEntry } from "../answers.ts";
import { askGateway, withJson } from "../gateway.ts";
import { ImageFile } from "../playground/image-file.ts";
import { usableModels } from "./answers.ts";

interface ApiRequest {
  path: string;
  body: object;
}

/** True if inline images were deleted when the task ended: the record has `inline` in their place. */
export const lacksImages = ({ parameters: { images = [], image_with_roles = [], input } }: Submission) =>
  [...images, ...image_with_roles.map(({ url }) => url)].includes("inline") ||
  (input && JSON.stringify(input).includes('"inline"')) === true;

/** True if the whole request still exists. */
export const isRepeatable = (submission: Submission) => !submission.isCut && !lacksImages(submission);

/** The request body for the API, to the same destination. A presigned URL was for one file. Records have the fields of `metadata` on the same level as others; the model's schema identifies them. */
export async function toApiRequest(c: ConsoleContext, { kind, model, parameters, source, deliverTo }: Submission): Promise<ApiRequest> {
  const given = { model, ...(deliverTo?.url === undefined && deliverTo && { deliver_to: deliverTo }) };
  if (kind === "remix") return { path: `/v1/videos/${source?.taskId}/remix`, body: { ...given, ...parameters } };
  if (parameters.input) return { path: "/v1/tasks", body: { ...given, ...parameters } };
  const entry = (await usableModels(c)).find(({ id }) => id === model);
  return { path: kind === "image" ? "/v1/images/generations" : "/v1/videos/generations", body: { ...given, ...nested(parameters, entry) } };
}

function nested(parameters: object, entry: ModelEntry | undefined): object {
  const within = entry?.parameters.properties?.["metadata"]?.properties ?? {};
  // `auto` is the resolved value of a missing size.
  const fields = Object.entries(parameters).filter(([name, value]) => name !== "size" || value !== "auto");
  const metadata = fields.filter(([name]) => name in within);
  return {
    ...Object.fromEntries(fields.filter(([name]) => !(name in within))),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  };
}

/** Submits. The same form with the same values is one task, however often it is sent; a changed form is another. */
export async function submitOnce(c: ConsoleContext, formKey: string, { path, body }: ApiRequest): Promise<Response> {
  const seen = (_: string, value: unknown) => (value instanceof ImageFile ? [value.name, value.size] : value);
  const key = await sha256Hex(`${formKey}\n${path}\n${JSON.stringify(body, seen)}`);
  return askGateway(c, path, withJson("POST", body, key));
}
