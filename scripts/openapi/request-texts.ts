/** What the fields of requests, and under the empty name requests themselves, are for, by schema: texts that only the description needs are not in the gateway's script. */

import { fieldDescriptions } from "./fields.ts";

const { reference = "", store = "", max_cost: maxCost = "" } = fieldDescriptions;

export const requestTexts: Record<string, Record<string, string>> = {
  DeliverTo: {
    "": "Where the files are delivered once the task has completed: `url`, or `destination`.",
    url: "A presigned https URL that takes one PUT; only for a task with one file.",
    destination: "The name of a destination of the account.",
    prefix: "Follows the destination's own prefix; the task's id follows it.",
  },
  OwnInputRequest: { reference, store, max_cost: maxCost },
  DestinationChange: {
    endpoint: "The origin of the bucket's API, https: `https://s3.eu-central-1.amazonaws.com`.",
    region: "`auto` for Cloudflare R2.",
    prefix: "The beginning of every key.",
  },
  NewCodes: {
    amount: "What each of them adds to the quota, in balance units.",
    note: "Shown to the operator, and to those who redeem a code.",
  },
  NewPayment: {
    amount: "What it adds to the quota, in balance units: a whole number of cents.",
  },
  ApiKeyChange: {
    paused: "`true` refuses the key until it is `false` again.",
  },
  NewModelDraft: {
    model: "The maker's id of the model.",
    id: "The id that callers will send; by default from the maker's id.",
    kind: "What it makes; by default a guess from the maker's id.",
  },
  NewBatch: {
    input_file: "The id of a file (file_...) of JSON lines: at most 50,000 lines and 200 MiB.",
    requests: "The lines themselves: `{custom_id, endpoint, body}`.",
    concurrency: "How many of its tasks may be open at once.",
    callback_url: "Called once, at the batch's end, in place of the account's endpoint.",
    deliver_to: "Where the files of its tasks are delivered, unless a line's body says otherwise: a `destination`.",
  },
  NewClientToken: {
    characters: "Ids or usernames of the only characters that its prompts may mention.",
    files: "Ids of the only files that its bodies may name.",
    callback_url: "Of its tasks, in place of the account's endpoint.",
    reference: "Of its tasks.",
  },
};
