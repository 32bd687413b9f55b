/** A program with the client that hey-api generates: one submission, and its stream of events. */

import { createClient } from "./generated/client/index.js";
import { createImage, streamTask } from "./generated/sdk.gen.js";
import type { NewVideoRequest, Task } from "./generated/types.gen.js";

const { GATEWAY_URL: baseUrl = "", GATEWAY_KEY: apiKey = "" } = process.env;
const client = createClient({ baseUrl, auth: () => apiKey });

const { data } = await createImage({ client, body: { model: "imgA-4", prompt: "A lighthouse" } });
if (data?.object !== "generation.task") throw new Error("no task");
let task: Task | undefined;
const { stream } = await streamTask({ client, path: { task_id: data.id } });
for await (const state of stream) if (state) task = state;
const { error } = await createImage({ client, body: { model: "imgA-4", prompt: "" } });

// @ts-expect-error a duration that the model does not have
void ({ model: "vidA-2", prompt: "a", duration: 7 } satisfies NewVideoRequest);

console.log(task?.status, task?.cost.charged, error && "error" in error && error.error.code);
