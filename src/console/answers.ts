/** Reads the gateway's answers with the schemas of its API description. */

import type * as z from "zod/mini";
import type { Schema } from "./playground/fields.ts";
import { type PageStatus, toPageStatus } from "./page-status.ts";

const load = () => import("./answer-schemas.ts");
type Schemas = Awaited<ReturnType<typeof load>>;
type Answer<Name extends keyof Schemas> = z.output<Schemas[Name]>;

/** `data` of the generic query. Times are Unix seconds. */
export type TaskData = Answer<"taskAnswer">["data"];
/** An element of `GET /v1/characters`. Each answer signs its image's URL again. */
export type CharacterRow = Answer<"characterList">["data"][number];
/** An entry of `GET /v1/models`, with JSON Schemas that have the catalog's keywords. Prices in balance units. */
export type ModelEntry = Omit<Answer<"modelList">["data"][number], "parameters" | "actions"> & {
  parameters: Schema;
  actions?: { character?: Schema; remix?: Schema };
};

/** A model as it is sold, or as a dry run says that it would be. Prices in balance units. */
export type SoldModel = NonNullable<Answer<"modelEntry">["model"]>;

/** A task's callback: its address, state and attempts. Times are Unix seconds. */
export type TaskCallback = Answer<"taskCallback">;
/** One call of a receiver. */
export type CallbackAttempt = TaskCallback["attempts"][number];

/** `GET /v1/batches/{id}`. Times are Unix seconds, amounts balance units. */
export type Batch = Answer<"batch">;
/** An element of `GET /v1/destinations`. */
export type Destination = Answer<"destinationList">["data"][number];
/** The outcome of a destination's test. */
export type DestinationTest = Answer<"destinationTest">;

type Issue = z.core.$ZodIssue;

/** The answer has fields that its schema lacks: the gateway is newer, because the two Workers are deployed one after the other. */
const isOnlyMore = (issue: Issue): boolean =>
  issue.code === "unrecognized_keys" || (issue.code === "invalid_union" && issue.errors.some((branch) => branch.every(isOnlyMore)));

/** The answer's JSON. Throws if it does not match the schema. */
export async function readAnswer<T>(schema: z.ZodMiniType<T>, answer: Response): Promise<T> {
  const body: unknown = await answer.json();
  const { data, error } = schema.safeParse(body);
  if (!error) return data;
  if (error.issues.every(isOnlyMore)) return body as T;
  throw new Error(
    `an answer of the gateway has another shape: ${error.issues.map(({ path, code }) => `${path.join(".")} ${code}`).join(", ")}`,
  );
}

/** The answer's JSON by the schema of this name. */
async function read<Name extends keyof Schemas>(name: Name, answer: Response): Promise<Answer<Name>> {
  const schema: z.ZodMiniType = (await load())[name];
  return (await readAnswer(schema, answer)) as Answer<Name>;
}

export const readTask = async (answer: Response): Promise<TaskData> => (await read("taskAnswer", answer)).data;
export const readTasks = (answer: Response) => read("taskList", answer);
export const readCharacters = (answer: Response) => read("characterList", answer);
export const readModels = async (answer: Response) => (await read("modelList", answer)).data as ModelEntry[];
/** The answer to a change of a model's entry, also of a dry run. */
export const readModelDraft = (answer: Response) => read("modelDraft", answer);
export const readModelEntry = (answer: Response) => read("modelEntry", answer);
export const readCallback = (answer: Response) => read("taskCallback", answer);
export const readUsage = (answer: Response) => read("usageList", answer);
export const readBatch = (answer: Response) => read("batch", answer);
export const readBatches = (answer: Response) => read("batchList", answer);
export const readFile = (answer: Response) => read("file", answer);
export const readDestinations = async (answer: Response) => (await read("destinationList", answer)).data;
export const readDestinationTest = (answer: Response) => read("destinationTest", answer);
export const readWebhookTest = (answer: Response) => read("webhookTest", answer);
/** The price of a dry run in balance units. */
export const readPrice = async (answer: Response) => (await read("dryRun", answer)).price;
/** The task in the answer to a submission or to a change of a task. */
export async function readTaskId(answer: Response): Promise<string> {
  const body = await read("changedTask", answer);
  return "data" in body ? body.data.id : body.id;
}
/** The `error` object of an error answer. */
export const readError = async (answer: Response) => (await read("anyError", answer)).error;

/** An error answer as a page shows it, in the user's language. */
export interface Refusal {
  text: string;
  status: PageStatus;
}

/** Reads an error answer. All violations are shown, not only the first. */
export async function readRefusal(answer: Response): Promise<Refusal> {
  const { message, details = [] } = await readError(answer);
  const text = details.length > 1 ? details.map(({ param, message }) => `${param}: ${message}`).join("; ") : message;
  return { text, status: toPageStatus(answer.status) };
}

export const taskImages = ({ result }: TaskData) => (result && "images" in result ? result.images : []);
export const taskVideo = ({ result }: TaskData) => (result && "videos" in result ? result.videos[0] : undefined);
export const taskCharacter = ({ result }: TaskData) => (result && "type" in result ? result.data.characters[0] : undefined);

/** The prompt, also of an own input; undefined for tasks without one. */
export function taskPrompt({ metadata: { prompt, input } }: TaskData): string | undefined {
  const own = typeof input === "object" && input !== null && "prompt" in input ? input.prompt : undefined;
  return [prompt, own].find((text) => typeof text === "string");
}
