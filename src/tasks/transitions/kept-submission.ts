/** What a task keeps of its submission after its end. Pure, like `task.ts`. */

import type { FailureCode } from "../../base/errors.ts";
import { costedPart, costFields } from "../../catalog/cost-parts.ts";
import type { Parameters } from "../../catalog/parse.ts";
import type { OpenTask, Submission } from "../record.ts";

/** The part of a submission that is kept after the task's end: without its content if the caller requested that, but with what the costs of its routes read: makers may bill later. Keys of stored inputs are kept, because they are deleted next. */
export function keptSubmission({ submission }: OpenTask): Submission {
  if (submission.store !== false) return submission;
  const {
    prompt: _p,
    url: _u,
    images: _i,
    image_with_roles: _r,
    first_frame_image: _f,
    last_frame_image: _l,
    input,
    ...parameters
  } = submission.parameters;
  const isRead = input !== undefined && costFields(submission.routes).length > 0;
  const costed = isRead && { input: costedPart(submission.routes, { ...input }) };
  return { ...withoutUrls(submission), parameters: { ...parameters, ...costed } };
}

/** Without the URLs of inputs; the source of a remix is kept, and what has to be deleted. */
function withoutUrls({ source, ...submission }: Submission): Submission {
  const inputs = submission.inputs.filter(({ key }) => key !== undefined);
  return { ...submission, inputs, ...(source && source.url === undefined && { source }) };
}

/** Characters of each text in the record of a task that ended without a result: submitting and cancelling cost nothing, and records are kept for days. */
const maxFailedText = 1_000;
const maxCancelledText = 200;

/** The part of a submission that is kept if the task ends without a result: what its answers, its receipt and its callback need, with long texts cut. */
export function shortSubmission(task: OpenTask, error: FailureCode): Submission {
  const kept = withoutUrls(keptSubmission(task));
  const max = error === "cancelled" ? maxCancelledText : maxFailedText;
  const shorten = (text: string) => {
    const characters = text.length > max ? Array.from(text) : [];
    return characters.length > max ? `${characters.slice(0, max).join("")}…` : text;
  };
  const whole = JSON.stringify(kept.parameters);
  const parameters = JSON.parse(whole, (_, value: unknown) => (typeof value === "string" ? shorten(value) : value)) as Parameters;
  return { ...kept, parameters, characters: [], ...(JSON.stringify(parameters) !== whole && { isCut: true }) };
}
