/** A video task in OpenAI's format. */

import type { TaskData } from "../client.ts";

/** OpenAI's sizes and their ratios. */
export const sizes: Record<string, string> = { "1280x720": "16:9", "720x1280": "9:16" };

/** OpenAI's names of the gateway's fields. */
export const renamed: Record<string, string> = {
  duration: "seconds",
  "images[0]": "input_reference",
  images: "input_reference",
  "metadata.first_frame_image": "input_reference",
};

/** The size in pixels for each ratio, with 720 pixels on the short side; used until the video's own size is known. */
function toPixels(ratio: string | undefined): string {
  const known = Object.keys(sizes).find((pixels) => sizes[pixels] === ratio);
  if (known !== undefined || ratio === undefined || !ratio.includes(":")) return known ?? ratio ?? "auto";
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  const scale = 720 / Math.min(width, height);
  const even = (side: number) => 2 * Math.round((side * scale) / 2);
  return `${even(width)}x${even(height)}`;
}

/** OpenAI's `video` object. */
export function toVideo({ metadata, result, ...task }: TaskData) {
  const made = result?.videos?.[0];
  return {
    id: task.id,
    object: "video",
    model: metadata.requested_model ?? task.model,
    status: task.status,
    progress: task.progress,
    created_at: task.created_at,
    completed_at: task.completed_at ?? null,
    expires_at: task.expires_at ?? null,
    seconds: String(metadata.duration ?? made?.duration ?? ""),
    size: made?.size ?? toPixels(metadata.size),
    prompt: metadata.prompt ?? (typeof metadata.input?.prompt === "string" ? metadata.input.prompt : null),
    remixed_from_video_id: metadata.source_task ?? null,
    error: task.error ? { code: task.error.code, message: task.error.message } : null,
  };
}
