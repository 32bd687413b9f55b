/** Submissions: images, videos and characters, remixes. */

import { dryRun, submission } from "../../../src/api/schema/tasks.ts";
import { submissionQuery } from "../../../src/api/schema/queries.ts";
import type { Failure, Media, Operation, Operations } from "../definition.ts";
import * as example from "../examples/index.ts";

/** Shared by all submissions. */
const submit = (parts: {
  id: string;
  summary: string;
  description: string;
  body: Media;
  /** The tasks in the answers' examples. */
  submitted: Record<string, object>;
  errors?: Failure[];
}): Operation => ({
  id: parts.id,
  tag: "generations",
  summary: parts.summary,
  description: parts.description,
  security: "token",
  query: submissionQuery(),
  headers: ["Idempotency-Key"],
  body: parts.body,
  answers: {
    200: {
      description: "The task, or with `dry_run=true` its price.",
      headers: ["location", "retry-after", "idempotent-replayed"],
      content: {
        "application/json": {
          schema: [submission, dryRun],
          examples: {
            ...parts.submitted,
            dry_run: {
              object: "generation.dry_run",
              model: "imgA-4",
              kind: "image",
              price: 0.03,
              remaining_after: 98.86,
              estimated_time: 15,
              metadata: example.imageSubmission.metadata,
            },
          },
        },
      },
    },
  },
  errors: [
    "model_not_found",
    "model_not_available",
    "unsupported_parameter",
    "cost_limit_exceeded",
    "insufficient_quota",
    "budget_exceeded",
    "idempotency_conflict",
    "content_policy_violation",
    "too_many_open_tasks",
    "token_exhausted",
    ...(parts.errors ?? []),
  ],
  violation: { param: "prompt", rule: "too_long", values: { maximum: 1000 }, allowed: { maximum: 1000 } },
});

const ofSource: Failure[] = ["task_not_found"];

export const generations: Operations = {
  "POST /v1/images/generations": submit({
    id: "createImage",
    summary: "Make images",
    description:
      "Submits images and returns a task at once. Query it with `GET /v1/tasks/{task_id}`. The price of `n` images is reserved; only the images that were made are charged.",
    body: {
      schema: "ImageRequest",
      examples: {
        image: example.imageRequest,
        edit: { model: "imgB-4o-image", prompt: "Make it snow", images: ["https://shop.example/house.jpg"] },
      },
    },
    submitted: { image: example.imageSubmission },
  }),
  "POST /v1/videos/generations": submit({
    id: "createVideo",
    summary: "Make a video, or a character from a video",
    description:
      "Submits a video and returns a task at once. The fields depend on the model. A `vidA` body with `timestamps` and either `url` or `from_task` makes a character; query that with `GET /v1/characters_tasks/{task_id}`.",
    body: {
      schema: "VideoRequest",
      examples: {
        video: example.videoRequest,
        from_image: {
          model: "vidC-1-0-pro-fast",
          prompt: "The curtain moves in the wind",
          image_with_roles: [{ url: "https://shop.example/window.jpg", role: "first_frame" }],
          metadata: { resolution: "720p" },
        },
        character: example.characterRequest,
      },
    },
    submitted: { video: example.videoSubmission, character: example.characterSubmission },
    errors: ofSource,
  }),
  "POST /v1/videos/{video_id}/remix": submit({
    id: "remixVideo",
    summary: "Remix a video",
    description: "Makes a new video from a completed video of the same account, changed as the prompt says.",
    body: { schema: "RemixRequest", examples: { remix: example.remixRequest } },
    submitted: { remix: example.remixSubmission },
    errors: ofSource,
  }),
};
