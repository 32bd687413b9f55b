/** The range of a video from which a character is created. */

import { InputError, type InputVideo, type Job } from "../provider.ts";

/** The job's source video and its range in seconds. Throws `InputError` if the job has none: only characters have a range. */
export function sourceClip({ source, range }: Job): { source: InputVideo; start: number; end: number } {
  if (!source || !range) throw new InputError("the job has no source video or no timestamps");
  return { source, ...range };
}
