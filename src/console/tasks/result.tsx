/** The result of a task: its images, its video or its character, with download links. */

import type { Asset } from "../../assets.ts";
import type { Task } from "../../tasks/record.ts";
import type { Say } from "../messages.ts";
import { characterOf, imagesOf, promptOf, type TaskData, videoOf } from "../answers.ts";
import { isGone } from "./answers.ts";

interface Props {
  task: TaskData;
  /** The record's own result, which has the files' types and sizes. */
  result: Task["result"];
  say: Say;
}

const typeNames: Record<string, string> = { "image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "video/mp4": "MP4" };

/** A download link of a file. Its name contains the task's id, and a number if there are several. */
function Download({ url, asset, name, say }: { url: string | undefined; asset: Asset; name: string; say: Say }) {
  const extension = asset.key.slice(asset.key.lastIndexOf("."));
  const size = asset.bytes < 1e6 ? `${Math.ceil(asset.bytes / 1e3)} KB` : `${(asset.bytes / 1e6).toFixed(1)} MB`;
  return (
    <a href={url} download={`${name}${extension}`}>
      {say("download")} ({typeNames[asset.type] ?? asset.type}, {size})
    </a>
  );
}

export function Result({ task, result, say }: Props) {
  if (!result || !task.result) return null;
  if (isGone(task) && result.kind !== "character") return <p>{say("files_gone_hint")}</p>;
  const prompt = promptOf(task);
  switch (result.kind) {
    case "images":
      return (
        <div class="shots">
          {result.images.map((image, at) => {
            const url = imagesOf(task)[at]?.url[0];
            return (
              <figure>
                <img src={url} alt={prompt} />
                <figcaption>
                  <Download url={url} asset={image} name={result.images.length > 1 ? `${task.id}-${at + 1}` : task.id} say={say} />
                </figcaption>
              </figure>
            );
          })}
        </div>
      );
    case "video": {
      const video = videoOf(task);
      if (!video) return null;
      return (
        <figure class="hero stack">
          <video
            src={video.url[0]}
            poster={video.thumbnail}
            width={result.width}
            height={result.height}
            controls
            playsinline
            preload="metadata"
            aria-label={prompt}
          />
          <figcaption>
            {video.size}, {video.duration} s · <Download url={video.url[0]} asset={result.video} name={task.id} say={say} />
            {result.thumbnail && (
              <>
                {" · "}
                {say("video_thumbnail")}:{" "}
                <Download url={video.thumbnail} asset={result.thumbnail} name={`${task.id}-thumbnail`} say={say} />
              </>
            )}
          </figcaption>
        </figure>
      );
    }
    case "character":
      return (
        <figure class="hero stack">
          {!isGone(task) && <img src={characterOf(task)?.profile_picture_url} alt={result.displayName} />}
          <figcaption>
            {result.displayName}, <code>@{result.username}</code> · <a href="/console/characters">{say("characters")}</a>
          </figcaption>
        </figure>
      );
  }
}
