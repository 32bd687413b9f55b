/** The part of a video that a character is taken from. */

import { InputError, type InputVideo, type Job } from "../provider.ts";

/** The job's source and the part of it, in seconds. Throws `InputError` when the job has none: only characters are taken from a clip. */
export function sourceClip({ source, range }: Job): { source: InputVideo; start: number; end: number } {
  if (!source || !range) throw new InputError("the job has no clip");
  return { source, ...range };
}
