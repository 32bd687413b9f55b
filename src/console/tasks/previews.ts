/** The preview of a result on a tile: the thumbnail of its first file, and the video that plays on it. */

import type { ConsoleContext } from "../context.ts";
import { taskCharacter, taskImages, type TaskData, taskVideo } from "../answers.ts";
import { isGone } from "./answers.ts";
import { thumbnailPath, type ThumbnailSize } from "./thumbnails.ts";

export interface Preview {
  /** The path of the thumbnail; undefined if only a browser can make it, from the video. */
  image: string | undefined;
  /** The video's URL. */
  video: string | undefined;
}

/** The previews of tasks with files, by their ids. */
export async function readPreviews(c: ConsoleContext, tasks: TaskData[], size?: ThumbnailSize): Promise<Map<string, Preview>> {
  const found = await Promise.all(
    tasks.map(async (task) => {
      const video = taskVideo(task);
      const file = video ? (video.thumbnail ?? video.url[0]) : (taskImages(task)[0]?.url[0] ?? taskCharacter(task)?.profile_picture_url);
      if (file === undefined || isGone(task)) return [];
      return [[task.id, { image: await thumbnailPath(c.env, file, size), video: video?.url[0] }] as const];
    }),
  );
  return new Map(found.flat());
}
