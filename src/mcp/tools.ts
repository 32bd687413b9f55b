/** The tools of `/mcp`: description, arguments and action of each. Arguments have the names of the HTTP API. */

import type { CallToolResult, Tool as ProtocolTool, ToolAnnotations } from "@modelcontextprotocol/server";
import { invalid, names, readTaskId, readWait, requireAction, taskPath, without } from "./arguments.ts";
import type { Arguments, Context } from "./context.ts";
import { type Action, mergedProperties, modelNamed, type ModelEntry, type Schema } from "./models.ts";
import { outputs } from "./outputs.ts";
import { type TaskData, taskResult, toRecord } from "./results.ts";
import { submit } from "./submit.ts";
import { maxWaitSeconds, waitFor } from "./wait.ts";

interface Tool {
  title: string;
  description: string;
  input: (models: ModelEntry[]) => { properties: Record<string, Schema>; required?: string[] };
  output: NonNullable<ProtocolTool["outputSchema"]>;
  annotations: ToolAnnotations;
  run: (args: Arguments, context: Context) => Promise<CallToolResult>;
}

const reads: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const spends: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true };

/** The kinds of models. */
const kinds: unknown[] = ["chat", "image", "video"] satisfies ModelEntry["kind"][];

const taskId: Schema = { type: "string", description: "The task_id from another tool's result: task_..." };
const wait: Schema = {
  type: "integer",
  minimum: 0,
  maximum: maxWaitSeconds,
  default: maxWaitSeconds,
  description: "Seconds to wait for the end of the task; the task continues in any case",
};
const options: Record<string, Schema> = {
  max_cost: {
    type: "number",
    minimum: 0,
    description: "The highest price, in balance units; if the price is higher, nothing is made or charged",
  },
  reference: { type: "string", minLength: 1, maxLength: 128, description: "The caller's own name for the task; list_tasks finds it" },
  variation: {
    type: "integer",
    description:
      "A different number makes a new result from the same arguments, and costs again. Without it a repeated call returns the earlier task.",
  },
  wait,
};

const spending =
  "Costs balance units (estimate returns how many). Waits for the task up to 50 seconds; call wait_for_task if it is not finished by then. " +
  "A repeated call with the same arguments returns the same task and is charged once.";

/** A tool that submits a task of one kind. `path` receives its body. */
const generates = (
  action: Action,
  {
    named = {},
    path,
    ...about
  }: {
    title: string;
    description: string;
    /** Arguments that are not part of the body. */
    named?: Record<string, Schema>;
    path: (args: Arguments) => string;
  },
): Tool => ({
  ...about,
  description: `${about.description} ${spending}`,
  input: (models) => {
    const { properties, required } = mergedProperties(models, action);
    return { properties: { ...named, ...properties, ...options }, required: [...Object.keys(named), "model", ...required] };
  },
  output: outputs.task,
  annotations: spends,
  run: (args, context) => {
    const seconds = readWait(args);
    requireAction(action, args, context.models);
    return submit(path(args), args, without(args, [...Object.keys(named), "variation", "wait"]), context, seconds);
  },
});

const remixPath = (args: Arguments) => `/v1/videos/${encodeURIComponent(readTaskId(args))}/remix`;

export const tools: Record<string, Tool> = {
  list_models: {
    title: "List models",
    description: "The models with their parameters (JSON Schema) and prices in balance units. Without arguments, all models.",
    input: () => ({
      properties: {
        kind: { type: "string", enum: kinds },
        model: { type: "string", description: "Only this model; a name or an alias" },
      },
    }),
    output: outputs.models,
    annotations: reads,
    run: async ({ kind: onlyKind, model: onlyModel }, { models }) => {
      const [kind, model] = [onlyKind ?? undefined, onlyModel ?? undefined];
      const named = model === undefined ? undefined : modelNamed(models, model);
      if (model !== undefined && !named) throw invalid("model", `is not a model that is available: ${names(models)}`);
      if (kind !== undefined && !kinds.includes(kind)) throw invalid("kind", `must be one of ${kinds.join(", ")}`);
      const data = (named ? [named] : models).filter((entry) => kind === undefined || entry.kind === kind);
      return structured(`${data.length} models: ${names(data)}.`, { data });
    },
  },
  estimate: {
    title: "Estimate the price",
    description:
      "Checks a request and returns its price and what would be left, or what is wrong with it. Nothing is made or charged. Takes the " +
      "arguments of the tool that would make it, with its kind: image (generate_image), video (generate_video), remix (remix_video), " +
      "character (create_character), or chat (messages as in the HTTP API).",
    input: (models) => ({
      properties: {
        kind: { type: "string", enum: Object.keys(paths) },
        model: { type: "string", enum: models.flatMap(({ id, aliases }) => [id, ...aliases]) },
        task_id: { ...taskId, description: "For a remix: the video's task" },
      },
      required: ["kind", "model"],
    }),
    output: outputs.estimate,
    annotations: reads,
    run: async (args, { client }) => {
      const path = Object.hasOwn(paths, String(args["kind"])) ? paths[args["kind"] as keyof typeof paths] : undefined;
      if (!path) throw invalid("kind", `must be one of ${Object.keys(paths).join(", ")}`);
      const body = without(args, ["kind", "variation", "wait", ...(args["kind"] === "remix" ? ["task_id"] : [])]);
      const { body: preview } = await client.ask<{ price: number; kind: string }>(`${path(args)}?dry_run=true`, { body });
      if (preview.kind !== args["kind"]) throw invalid("kind", `does not fit the arguments, which are for the kind ${preview.kind}`);
      return structured(`It would cost ${preview.price}.`, { ...preview });
    },
  },
  generate_image: generates("image", {
    title: "Generate images",
    description: "Makes one to four images from a prompt, with or without reference images.",
    path: () => "/v1/images/generations",
  }),
  generate_video: generates("video", {
    title: "Generate a video",
    description: "Makes a video from a prompt, with or without images. @username in the prompt names a character of create_character.",
    path: () => "/v1/videos/generations",
  }),
  remix_video: generates("remix", {
    title: "Remix a video",
    description: "Makes a changed version of a finished video: the prompt says what changes.",
    named: { task_id: { ...taskId, description: "The task that made the video" } },
    path: remixPath,
  }),
  create_character: generates("character", {
    title: "Create a character",
    description:
      "Makes a character from one to three seconds of a video with sound: exactly one of url and from_task (a finished video's task_id).",
    path: () => "/v1/videos/generations",
  }),
  get_task: {
    title: "Get a task",
    description: "The current state of a task, with its files if it is completed.",
    input: () => ({ properties: { task_id: taskId }, required: ["task_id"] }),
    output: outputs.task,
    annotations: reads,
    run: async (args, context) => taskResult(context.client, await waitFor(readTaskId(args), 0, context)),
  },
  wait_for_task: {
    title: "Wait for a task",
    description: "Waits until a task is finished, at most 50 seconds; call it again if it is not. Reports progress.",
    input: () => ({ properties: { task_id: taskId, wait }, required: ["task_id"] }),
    output: outputs.task,
    annotations: reads,
    run: async (args, context) => taskResult(context.client, await waitFor(readTaskId(args), readWait(args), context)),
  },
  cancel_task: {
    title: "Cancel a task",
    description: "Ends a task that is not finished. The result's cost shows what was charged, usually nothing.",
    input: () => ({ properties: { task_id: taskId }, required: ["task_id"] }),
    output: outputs.task,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async (args, { client }) => {
      const { body } = await client.ask<{ data: TaskData }>(`${taskPath(args)}/cancel`, { method: "POST" });
      return structured(`The task is cancelled; ${body.data.cost.charged ?? 0} was charged.`, toRecord(body.data));
    },
  },
  list_tasks: {
    title: "List tasks",
    description: "The account's tasks of the last days, newest first.",
    input: (models) => ({
      properties: {
        limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
        after: { type: "string", description: "The last task_id of the previous page" },
        status: { type: "string", enum: ["queued", "in_progress", "completed", "failed"] },
        kind: { type: "string", enum: ["image", "video", "character", "remix"] },
        model: { type: "string", enum: models.map(({ id }) => id) },
        reference: { type: "string" },
      },
    }),
    output: outputs.tasks,
    annotations: reads,
    run: async (args, { client }) => {
      const given = Object.entries(args).filter(([, value]) => value !== null && value !== undefined);
      const query = new URLSearchParams(given.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
      const { body } = await client.ask<{ data: TaskData[]; has_more: boolean }>(`/v1/tasks?${query.toString()}`);
      return structured(`${body.data.length} tasks${body.has_more ? ", and more after them" : ""}.`, {
        ...body,
        data: body.data.map(toRecord),
      });
    },
  },
  balance: {
    title: "Balance",
    description:
      "What the API key may still spend and has spent, in balance units, and the same for its account; -1 is unlimited. " +
      "With the key's budget of the day or month, and the models and kinds that it is limited to.",
    input: () => ({ properties: {} }),
    output: outputs.balance,
    annotations: reads,
    run: async (_, { client }) => {
      const read = async (path: string) => (await client.ask<Arguments>(path)).body;
      const [own, account, key] = await Promise.all([read("/v1/balance"), read("/v1/user/balance"), read("/v1/key")]);
      const left = ({ remain_balance }: Arguments) => (remain_balance === -1 ? "no limit" : `${String(remain_balance)} left`);
      const { budget } = key as { budget?: { remaining: number; window: string } | null };
      const inBudget = budget ? `, ${budget.remaining} of its budget of this ${budget.window}` : "";
      return structured(`The key has ${left(own)}${inBudget}, the account ${left(account)}.`, { ...own, account, key });
    },
  },
};

/** The path of submissions of each kind. */
const paths = {
  image: () => "/v1/images/generations",
  video: () => "/v1/videos/generations",
  remix: remixPath,
  character: () => "/v1/videos/generations",
  chat: () => "/v1/chat/completions",
};

const structured = (sentence: string, record: Record<string, unknown>): CallToolResult => ({
  content: [
    { type: "text", text: sentence },
    { type: "text", text: JSON.stringify(record) },
  ],
  structuredContent: record,
});
