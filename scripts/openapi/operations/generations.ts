/** Submissions: images, videos and characters, remixes. */

import { awaitedSubmission, dryRun } from "../../../src/api/schema/tasks.ts";
import { submissionQuery } from "../../../src/api/schema/queries.ts";
import { answer, type Failure, type Media, ofPrice, tagged, type Untagged } from "../definition.ts";
import * as example from "../examples/index.ts";

const estimatedImage = {
  object: "generation.dry_run",
  model: "imgA-4",
  kind: "image",
  price: 0.03,
  remaining_after: 98.86,
  estimated_time: 15,
  metadata: example.imageSubmission.metadata,
};

const ofPrompt = { param: "prompt", rule: "too_long", values: { maximum: 1000 }, allowed: { maximum: 1000 } };

/** Shared by all submissions. */
const submit = (parts: {
  id: string;
  summary: string;
  description: string;
  body: Media;
  /** The tasks in the answers' examples. */
  submitted: Record<string, object>;
  /** The answer to one that waited until its task was completed. */
  completed?: object;
  errors?: Failure[];
}): Untagged => ({
  id: parts.id,
  summary: parts.summary,
  description: parts.description,
  security: "token",
  query: submissionQuery(),
  headers: ["Idempotency-Key", "Accept-Language"],
  body: parts.body,
  answers: {
    200: answer(
      "The task; with `wait` in its state when the wait is over; with `dry_run=true` its price.",
      [awaitedSubmission, dryRun],
      { ...parts.submitted, ...(parts.completed && { completed: parts.completed }), dry_run: estimatedImage },
      ["location", "retry-after", "idempotent-replayed", "sunset", "x-dropped-params"],
    ),
  },
  errors: [
    ...ofPrice,
    "idempotency_conflict",
    "content_policy_violation",
    "too_many_open_tasks",
    "too_many_waits",
    "token_exhausted",
    ...(parts.errors ?? []),
  ],
  violation: ofPrompt,
});

const ofSource: Failure[] = ["task_not_found"];

export const generations = tagged("generations", {
  "POST /v1/images/generations": submit({
    id: "createImage",
    summary: "Make images",
    description:
      "Submits images and returns a task at once, or with `wait` once the images are there. Query it with `GET /v1/tasks/{task_id}`. The price of `n` images is reserved; only the images that were made are charged.",
    body: {
      schema: "ImageRequest",
      examples: {
        image: example.imageRequest,
        edit: { model: "imgB-4o-image", prompt: "Make it snow", images: ["https://shop.example/house.jpg"] },
      },
    },
    submitted: { image: example.imageSubmission },
    completed: example.awaitedImage,
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
  "POST /v1/tasks": submit({
    id: "createTask",
    summary: "Make anything with a model of any kind",
    description:
      "Submits a task for any model but text. A model with its own input takes `{model, prompt?, input}`, where `input` is the upstream's own; every other model takes the body of its own path, `/v1/images/generations` or `/v1/videos/generations`. Models of kind `file` make audio, 3D objects, text and whatever else; their tasks have `result.files` and `result.data`.",
    body: {
      schema: "TaskRequest",
      examples: {
        own_input: { model: "narrator", input: { text: "Twenty thousand leagues under the sea", voice: "Rachel" } },
        image: example.imageRequest,
      },
    },
    submitted: { image: example.imageSubmission },
    completed: example.awaitedImage,
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
  "POST /v1/estimates": {
    id: "createEstimate",
    summary: "Estimate a price",
    description:
      "Checks the body of a submission or chat and answers its price, or exactly the error that the submission would get. `model` says which of them it is; a remix names its video as `video_id`. It reserves, stores and sends nothing, counts as a read, and ignores `Idempotency-Key`. The same as `dry_run=true` on the path of the submission.",
    security: "token",
    headers: ["Accept-Language"],
    body: {
      schema: "EstimateRequest",
      examples: {
        image: example.imageRequest,
        video: example.videoRequest,
        remix: { ...example.remixRequest, video_id: "task_3FKqS2mV0bWmXv7oLz5R1A" },
        chat: { model: "textA-1-mini", messages: [{ role: "user", content: "What is a lighthouse?" }] },
      },
    },
    answers: { 200: answer("The price.", dryRun, { image: estimatedImage }, ["sunset", "x-dropped-params"]) },
    errors: [...ofPrice, "context_length_exceeded", "too_many_open_tasks", "token_exhausted", ...ofSource],
    violation: ofPrompt,
  },
});
