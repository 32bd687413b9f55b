/** A task's record as the job for a provider, with its inputs. */

import { characterPicture } from "../../storage/assets.ts";
import { parseTimestamps } from "../../catalog/fields.ts";
import type { Job } from "../../providers/provider.ts";
import type { Inputs } from "./inputs.ts";
import { currentRoute, type Task } from "../record.ts";
import { toCharacter, toRequest } from "../request.ts";

/** The job for the current route, without a URL to call back. */
export function toJob(task: Task, inputs: Inputs, keep: Job["keep"]): Job {
  const { submission } = task;
  const { timestamps } = submission.parameters;
  const range = timestamps === undefined ? undefined : parseTimestamps(timestamps);
  const route = currentRoute(task);
  return {
    ...toRequest(submission, route),
    // Routes may share a provider: the next route must not get the earlier route's result.
    key: task.route === 0 ? task.id : `${task.id}-${task.route}`,
    keep,
    ...(task.askedAt !== undefined && task.isUnknown && { askedAt: task.askedAt }),
    ...(range && { range }),
    images: submission.inputs.map((input) => inputs.image(input)),
    characters: submission.characters.map((character) => ({
      ...toCharacter(character, route),
      image: inputs.image({ key: characterPicture(character.id), role: "reference" }),
    })),
    ...(submission.source && { source: inputs.video(submission.source) }),
  };
}
