/**
 * Schemas inside others that get a name of their own, so that generated code names their types once: where each is, and the replacement of
 * every equal schema by a reference.
 */

type Json = unknown;
type Node = Record<string, Json>;

const isNode = (value: Json): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** By name, a place where the schema is. Those inside of others come first. */
const places: Record<string, string> = {
  TaskStatus: "Task/properties/status",
  TaskKind: "TaskMetadata/properties/kind",
  Kind: "DryRun/properties/kind",
  DryRunMetadata: "DryRun/properties/metadata",
  Credentials: "ImageResult/properties/images/items/properties/credentials",
  GeneratedFile: "ImageResult/properties/files/items",
  GeneratedImage: "ImageResult/properties/images/items",
  GeneratedVideo: "VideoResult/properties/videos/items",
  CreatedCharacter: "CharacterResult/properties/data/properties/characters/items",
  ErrorDetail: "ErrorObject/properties/details/items",
  DeliveryFault: "TaskDelivery/properties/attempts/items/properties/fault",
  DeliveredFile: "TaskDelivery/properties/files/items",
  DestinationStep: "DestinationTest/properties/write",
  CallbackState: "TaskCallback/properties/state",
  CallbackFault: "TaskCallback/properties/attempts/items/properties/fault",
  CallbackAttempt: "TaskCallback/properties/attempts/items",
  BatchCounts: "Batch/properties/counts",
  BatchCost: "Batch/properties/cost",
  BatchError: "Batch/properties/errors/items",
  BudgetWindow: "BudgetReachedEvent/properties/data/properties/window",
  Budget: "OwnKey/properties/budget/anyOf/0",
  NewBudget: "NewApiKey/properties/budget/anyOf/0",
  UsageByDay: "UsageList/properties/data/anyOf/0/items",
  UsageByModel: "UsageList/properties/data/anyOf/1/items",
  UsageByKey: "UsageList/properties/data/anyOf/2/items",
  UsageByReference: "UsageList/properties/data/anyOf/3/items",
  EntryPrice: "ModelEntryFields/properties/price/additionalProperties",
  EntryBody: "ModelEntryFields/properties/body",
  EntryKind: "ModelEntryFields/properties/kind",
  EntryState: "ModelEntryFields/properties/state",
  SoldRoute: "SoldModelList/properties/data/items/properties/routes/items",
  SoldModel: "SoldModelList/properties/data/items",
  ToolChoice: "ChatRequest/properties/tool_choice",
  ImageWithRole: "VidA2Request/properties/image_with_roles/items",
  Role: "ChatRequest/properties/messages/items/properties/role",
  TextPart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items/anyOf/0",
  ImagePart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items/anyOf/1",
  AudioPart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items/anyOf/2",
  FilePart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items/anyOf/3",
  RefusalPart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items/anyOf/4",
  ContentPart: "ChatRequest/properties/messages/items/properties/content/anyOf/1/items",
  Message: "ChatRequest/properties/messages/items",
  CalledFunction: "ChatMessage/properties/function_call/anyOf/0",
  ToolCall: "ChatMessage/properties/tool_calls/anyOf/0/items",
  Annotation: "ChatMessage/properties/annotations/anyOf/0/items",
  ChatAudio: "ChatMessage/properties/audio/anyOf/0",
  TokenAlternative:
    "ChatCompletion/properties/choices/items/properties/logprobs/anyOf/0/properties/content/anyOf/0/items/properties/top_logprobs/items",
  TokenLogprob: "ChatCompletion/properties/choices/items/properties/logprobs/anyOf/0/properties/content/anyOf/0/items",
  Logprobs: "ChatCompletion/properties/choices/items/properties/logprobs/anyOf/0",
  FinishReason: "ChatCompletion/properties/choices/items/properties/finish_reason/anyOf/0",
  ChatChoice: "ChatCompletion/properties/choices/items",
  ChatDelta: "ChatCompletionChunk/properties/choices/items/properties/delta",
  ChatChunkChoice: "ChatCompletionChunk/properties/choices/items",
  StatusOfKind: "Status/properties/kinds/items",
  ReceiptFile: "Receipt/properties/files/items",
};

/** What stands beside a reference and belongs to the place, not to the schema. */
const ofPlace = new Set(["description", "default"]);

/** The schemas with a name for each part. Throws if a place does not exist. */
export function nameParts(schemas: Record<string, object>): Record<string, object> {
  const result: Record<string, Json> = structuredClone(schemas);
  for (const [name, place] of Object.entries(places)) {
    const found = place
      .split("/")
      .reduce<Json>((value, step) => (isNode(value) || Array.isArray(value) ? (value as Node)[step] : undefined), result);
    if (!isNode(found) || found["$ref"] !== undefined)
      throw new Error(`There is no schema at ${place} for ${name}, in scripts/openapi/parts.ts.`);
    const part = structuredClone(found);
    const wanted = key(part);
    for (const [other, schema] of Object.entries(result)) result[other] = replace(schema, wanted, `#/components/schemas/${name}`);
    result[name] = part;
  }
  return result as Record<string, object>;
}

/** A schema's text without what belongs to its place; equal for equal schemas. */
const key = (schema: Node) => JSON.stringify(Object.fromEntries(Object.entries(schema).filter(([name]) => !ofPlace.has(name))));

/** A copy with references in place of equal schemas. */
function replace(value: Json, wanted: string, $ref: string, isTop = true): Json {
  if (Array.isArray(value)) return value.map((item) => replace(item, wanted, $ref, false));
  if (!isNode(value)) return value;
  if (!isTop && key(value) === wanted) {
    const beside = Object.fromEntries(Object.entries(value).filter(([name]) => ofPlace.has(name)));
    return { $ref, ...beside };
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replace(item, wanted, $ref, false)]));
}
