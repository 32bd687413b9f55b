/** Schemas of every answer about tasks: the submission's answer and the three status queries. */

import * as z from "zod/mini";
import { taskDelivery } from "./destinations.ts";
import { failureCodes, taskKinds, taskStatuses, workKinds } from "../../base/words.ts";
import { amount, characterId, count, credentials, listAnswer, percent, taskId, time } from "./shared.ts";

const taskKind = z.enum(taskKinds);

const reserved = amount.check(z.describe("Balance units that the submission reserves."));
const reference = z.optional(z.string().check(z.describe("The caller's own name for the submission.")));
const estimatedTime = count.check(z.describe("Seconds still expected; absent once the task is final."));
const completedAt = z.optional(time.check(z.describe("Unix seconds; completed tasks only.")));
const expiresAt = time.check(z.describe("Unix seconds from which the URLs no longer work."));

/** The resolved parameters of a submission, with its kind and its reserved amount. */
export const taskMetadata = z
  .looseObject({
    kind: taskKind,
    reserved,
    source_task: z.optional(taskId.check(z.describe("The task whose video is remixed."))),
    reference,
  })
  .check(z.describe("What the task is, its resolved parameters (never inline image data) and what it reserved."));

const taskBasics = {
  id: taskId,
  object: z.literal("generation.task"),
  model: z.string().check(z.describe("The model's name; never an alias.")),
};

/** The answer to every submission (interface, 2.1). */
export const submission = z.strictObject({
  ...taskBasics,
  status: z.literal("queued"),
  progress: z.literal(0),
  created_at: time,
  metadata: taskMetadata,
});

/** The price of a submission or chat, with `?dry_run=true`. */
export const dryRun = z.strictObject({
  object: z.literal("generation.dry_run"),
  model: z.string(),
  kind: z.enum(workKinds),
  price: amount.check(z.describe("Balance units that would be reserved.")),
  remaining_after: z.number().check(z.gte(-1)).check(z.describe("What key and account would have left; -1 if there is no limit.")),
  estimated_time: count.check(z.describe("Seconds that such a task usually takes.")),
  metadata: z.looseObject({ kind: z.enum(workKinds), reserved: amount }),
});

export const failure = z.strictObject({
  code: z.enum(failureCodes),
  message: z.string(),
});

const ofFile = {
  url: z.array(z.url()).check(z.describe("One URL.")),
  credentials: z.optional(credentials),
};

/** What a model with its own input made beside the files of its kind. */
const moreResults = {
  files: z.optional(
    z
      .array(z.strictObject({ ...ofFile, type: z.string(), bytes: count, expires_at: expiresAt }))
      .check(z.describe("Files of any type, such as audio and 3D objects; of models with their own input.")),
  ),
  data: z.optional(z.looseObject({}).check(z.describe("What else the upstream answered; of models with their own input."))),
};

export const imageResult = z.strictObject({
  images: z.array(z.strictObject({ ...ofFile, expires_at: expiresAt })),
  ...moreResults,
});
/** The result of a task of kind `file`. */
export const fileResult = z.strictObject(moreResults);
export const videoResult = z.strictObject({
  videos: z.array(
    z.strictObject({
      ...ofFile,
      thumbnail: z.optional(z.url()),
      duration: count.check(z.describe("Seconds.")),
      size: z.string().check(z.describe("`<width>x<height>` in pixels.")),
      expires_at: expiresAt,
    }),
  ),
  ...moreResults,
});
export const characterResult = z.strictObject({
  type: z.literal("character"),
  data: z.strictObject({
    characters: z.array(
      z.strictObject({
        id: characterId,
        display_name: z.string(),
        profile_picture_url: z.url(),
        username: z.string().check(z.describe("Write `@username` in a video's prompt to use the character.")),
      }),
    ),
  }),
});

/** The cost of a task; the charged and returned amounts are set once the task is final. */
export const taskCost = z.strictObject({ reserved, charged: z.optional(amount), returned: z.optional(amount) });

const taskState = { ...taskBasics, status: z.enum(taskStatuses), progress: percent, created_at: time };

/** `data` of the generic status query. */
export const taskData = z.strictObject({
  ...taskState,
  estimated_time: z.optional(estimatedTime),
  metadata: taskMetadata,
  reference,
  cost: taskCost,
  completed_at: completedAt,
  expires_at: z.optional(expiresAt),
  result: z.optional(z.union([imageResult, videoResult, characterResult, fileResult])),
  delivery: z.optional(taskDelivery),
  error: z.optional(failure),
});

/** The answer to a submission with `?wait=`: the fields of `submission` in their present state, and the task's end once it is final. */
export const awaitedSubmission = z.extend(z.partial(z.omit(taskData, { estimated_time: true, reference: true })), {
  ...taskState,
  metadata: taskMetadata,
});

/** The generic status query (interface, 2.3). */
export const taskAnswer = z.strictObject({
  code: z.literal(200),
  data: taskData,
  message: z.optional(z.string().check(z.describe("The error's message; failed tasks only."))),
});
export const taskList = z.extend(listAnswer(taskData), {
  next_after: z.optional(
    taskId.check(
      z.describe(
        "Only in a page that ended before `limit` tasks were found, because hundreds did not match the filters or were deleted: `after` of the next page.",
      ),
    ),
  ),
});

/** The video status query (interface, 2.2), where `queued` is called `submitted`. */
export const videoStatus = z.strictObject({
  id: taskId,
  object: z.literal("video.generation"),
  status: z.enum(taskStatuses.map((status) => (status === "queued" ? "submitted" : status))),
  progress: percent,
  model: z.string(),
  created_at: time,
  completed_at: completedAt,
  estimated_time: z.optional(estimatedTime),
  url: z.optional(z.url()),
  thumbnail: z.optional(z.url()),
  duration: z.optional(count.check(z.describe("Seconds."))),
  size: z.optional(z.string().check(z.describe("`<width>x<height>` in pixels."))),
  expires_at: z.optional(expiresAt),
  error: z.optional(z.strictObject({ message: z.string() })),
});

/** The character status query (interface, 2.4). */
export const characterStatus = z.strictObject({
  ...taskState,
  completed_at: completedAt,
  result: z.optional(characterResult),
  metadata: taskMetadata,
  error: z.optional(failure),
});
