/** The tools of `/mcp`: description, arguments and action of each. Arguments have the names of the HTTP API. */

import type { CallToolResult, Tool as ProtocolTool, ToolAnnotations } from "@modelcontextprotocol/server";
import { invalid, names, readDryRun, readTaskId, readWait, requireVariation, requireAction, taskPath, without } from "./arguments.ts";
import { type ApiClient, type DryRun, type Page, toSegment, type TaskData } from "../client.ts";
import type { Arguments, Context } from "./context.ts";
import { type Action, hasOwnInput, mergedProperties, modelNamed, type ModelEntry, type Schema } from "./models.ts";
import { outputs } from "./outputs.ts";
import { fileFamilies, taskKinds, taskStatuses } from "../../base/words.ts";
import { taskResult, toRecord } from "./results.ts";
import { submit } from "./submit.ts";
import { maxWaitSeconds, waitFor } from "./wait.ts";

interface Tool {
  title: string;
  description: string;
  input: (models: ModelEntry[]) => { properties: Record<string, Schema>; required?: string[] };
  /** The names of the arguments of a call; those of `input` by default. */
  accepts?: (args: Arguments, models: ModelEntry[]) => string[];
  output: NonNullable<ProtocolTool["outputSchema"]>;
  annotations: ToolAnnotations;
  run: (args: Arguments, context: Context) => Promise<CallToolResult>;
}

const reads: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const spends: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true };

const kinds: unknown[] = ["chat", ...fileFamilies] satisfies ModelEntry["kind"][];

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
  store: { type: "boolean", description: "false: the prompt is not kept after the end of the task" },
  dry_run: { type: "boolean", default: false, description: "true: checks the arguments and returns the price; nothing is made or charged" },
  wait,
};

const ownInput: Schema = {
  type: "object",
  description: "The model's own input: parameters.properties.input of its entry is the schema",
};

const spending =
  "Costs balance units (estimate returns how many). Waits for the task up to 50 seconds; call wait_for_task if it is not finished by then. " +
  "A repeated call with the same arguments returns the same task and is charged once.";

const ownPath = "/v1/tasks";

/** The path of submissions of each kind. */
const paths = {
  image: () => "/v1/images/generations",
  video: () => "/v1/videos/generations",
  remix: (args: Arguments) => `/v1/videos/${toSegment(readTaskId(args))}/remix`,
  character: () => "/v1/videos/generations",
  chat: () => "/v1/chat/completions",
  file: () => ownPath,
};

/** True for the kinds that models of the interface have. */
const isMerged = (kind: unknown): kind is Action => kind !== "file" && Object.hasOwn(paths, String(kind));

/** A tool that submits a task of one kind. `named` are arguments that are not part of the body. */
const generates = (
  action: Action,
  { named = {}, ...about }: { title: string; description: string; named?: Record<string, Schema> },
): Tool => ({
  ...about,
  description: `${about.description} ${spending}`,
  input: (models) => {
    const { properties, required } = mergedProperties(models, action);
    return { properties: { ...named, ...properties, ...options }, required: [...Object.keys(named), "model", ...required] };
  },
  output: outputs.submission,
  annotations: spends,
  run: (args, context) => {
    requireAction(action, args, context.models);
    return make(paths[action](args), args, context, Object.keys(named));
  },
});

/** Submits a body, or answers its dry run. Throws `ApiRefusal`. */
async function make(path: string, args: Arguments, context: Context, named: string[] = []): Promise<CallToolResult> {
  const seconds = readWait(args);
  requireVariation(args);
  const body = without(args, [...named, ...notSent]);
  return readDryRun(args) ? preview(path, body, context.client) : submit(path, args, body, context, seconds);
}

/** Arguments of tools that are not fields of the API's bodies. */
const notSent = ["variation", "wait", "dry_run"];

/** The result of a dry run. Throws `ApiRefusal`. */
async function preview(path: string, body: Arguments, client: ApiClient): Promise<CallToolResult> {
  const made = await client.read<DryRun>(`${path}?dry_run=true`, { body });
  return structured(`It would cost ${made.price}. Nothing was submitted or charged.`, { ...made });
}

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
      "Checks a request and returns its price and the balance after it, or the field that is wrong. Nothing is made or charged. Takes the " +
      "arguments of the tool that would make it, with its kind: image (generate_image), video (generate_video), remix (remix_video), " +
      "character (create_character), chat (messages as in the HTTP API), or file. A model with its own input takes prompt and input, as " +
      "generate does.",
    input: (models) => ({
      properties: {
        kind: { type: "string", enum: Object.keys(paths) },
        model: { type: "string", enum: models.flatMap(({ id, aliases }) => [id, ...aliases]) },
        task_id: { ...taskId, description: "For a remix: the video's task" },
        ...(models.some(hasOwnInput) && { input: ownInput }),
      },
      required: ["kind", "model"],
    }),
    accepts: ({ kind, model }, models) => {
      const named = modelNamed(models, model);
      if (named && hasOwnInput(named)) return ["kind", "model", "prompt", "input", ...Object.keys(options)];
      const { properties } = mergedProperties(models, isMerged(kind) ? kind : "image");
      return [...new Set(["kind", "model", ...(kind === "remix" ? ["task_id"] : []), ...Object.keys(properties), ...Object.keys(options)])];
    },
    output: outputs.estimate,
    annotations: reads,
    run: async (args, { client, models }) => {
      const path = Object.hasOwn(paths, String(args["kind"])) ? paths[args["kind"] as keyof typeof paths] : undefined;
      if (!path) throw invalid("kind", `must be one of ${Object.keys(paths).join(", ")}`);
      const body = without(args, ["kind", ...notSent, ...(args["kind"] === "remix" ? ["task_id"] : [])]);
      const model = modelNamed(models, args["model"]);
      return preview(model && hasOwnInput(model) ? ownPath : path(args), body, client);
    },
  },
  generate_image: generates("image", {
    title: "Generate images",
    description: "Makes one to four images from a prompt, with or without reference images.",
  }),
  generate_video: generates("video", {
    title: "Generate a video",
    description: "Makes a video from a prompt, with or without images. @username in the prompt names a character of create_character.",
  }),
  generate: {
    title: "Generate with a model's own input",
    description:
      "Makes images, a video, audio, a 3D object or text with a model that has an input of its own: list_models with the model shows the schema of input. " +
      spending,
    input: (models) => {
      const own = models.filter(hasOwnInput).flatMap(({ id, aliases }) => [id, ...aliases]);
      return {
        properties: {
          model: { type: "string", ...(own.length > 0 && { enum: own }) },
          prompt: { type: "string", description: "Stands for the field prompt of input" },
          input: ownInput,
          ...options,
        },
        required: ["model"],
      };
    },
    output: outputs.submission,
    annotations: spends,
    run: (args, context) => {
      const own = context.models.filter(hasOwnInput);
      const model = modelNamed(context.models, args["model"]);
      if (model && !own.includes(model)) throw invalid("model", `must be one of ${names(own) || "none: no model has an input of its own"}`);
      return make(ownPath, args, context);
    },
  },
  remix_video: generates("remix", {
    title: "Remix a video",
    description: "Makes a changed version of a finished video: the prompt says what changes.",
    named: { task_id: { ...taskId, description: "The task that made the video" } },
  }),
  create_character: generates("character", {
    title: "Create a character",
    description:
      "Makes a character from one to three seconds of a video with sound: exactly one of url and from_task (a finished video's task_id).",
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
      const { data } = await client.read<{ data: TaskData }>(`${taskPath(args)}/cancel`, { method: "POST" });
      return structured(`The task is cancelled; ${data.cost.charged ?? 0} was charged.`, toRecord(data));
    },
  },
  list_tasks: {
    title: "List tasks",
    description: "The account's tasks of the last days, newest first.",
    input: (models) => ({
      properties: {
        limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
        after: { type: "string", description: "next_after of the previous page, or else its last task_id" },
        status: { type: "string", enum: taskStatuses },
        kind: { type: "string", enum: taskKinds },
        model: { type: "string", enum: models.map(({ id }) => id) },
        reference: { type: "string" },
      },
    }),
    output: outputs.tasks,
    annotations: reads,
    run: async (args, { client }) => {
      const given = Object.entries(args).filter(([, value]) => value !== null && value !== undefined);
      const query = new URLSearchParams(given.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
      const page = await client.read<Page<TaskData>>(`/v1/tasks?${query.toString()}`);
      return structured(`${page.data.length} tasks${page.has_more ? ", and more after them" : ""}.`, {
        ...page,
        data: page.data.map(toRecord),
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
      const [own, account, key] = await Promise.all([
        client.read<Arguments>("/v1/balance"),
        client.read<Arguments>("/v1/user/balance"),
        client.read<Arguments>("/v1/key"),
      ]);
      const left = ({ remain_balance }: Arguments) => (remain_balance === -1 ? "no limit" : `${String(remain_balance)} left`);
      const { budget } = key as { budget?: { remaining: number; window: string } | null };
      const inBudget = budget ? `, ${budget.remaining} of its budget of this ${budget.window}` : "";
      return structured(`The key has ${left(own)}${inBudget}, the account ${left(account)}.`, { ...own, account, key });
    },
  },
};

const structured = (sentence: string, record: Record<string, unknown>): CallToolResult => ({
  content: [
    { type: "text", text: sentence },
    { type: "text", text: JSON.stringify(record) },
  ],
  structuredContent: record,
});
