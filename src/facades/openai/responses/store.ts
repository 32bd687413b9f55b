/** Stored responses: for half an hour a response can be read, and continued by `previous_response_id`. Each belongs to its account; a member has only the own ones. */

import { retryRestart } from "../../../base/retry.ts";
import type { AppContext } from "../context.ts";
import { refuse, refuseField, toOpenAiError } from "../errors.ts";
import type { Fields } from "../form.ts";

/** The largest conversation with its response that is stored, in characters of JSON: an object's value has at most 2 MB. */
const maxCharacters = 500_000;

const prefix = "resp_";

const openObject = (c: AppContext, id: string) => {
  try {
    return c.env.ATTEMPTS.get(c.env.ATTEMPTS.idFromString(id.slice(prefix.length)));
  } catch {
    return undefined; // not an id that was issued: no object is woken
  }
};

/** The caller's stored response; undefined if it was never stored, was deleted or has expired. */
async function find(c: AppContext, id: string, account: string) {
  if (!id.startsWith(prefix)) return undefined;
  return retryRestart("response", id, async () => openObject(c, id)?.readResponse(account, c.env.OWNER?.ownWallets));
}

/** The items of the conversation that ended with this response. Throws 400. Empty for an unknown key, which the gateway refuses next. */
export async function readPrevious(c: AppContext, id: string): Promise<Fields[]> {
  const account = await c.env.API.account();
  if (account === undefined) return [];
  const stored = await find(c, id, account);
  if (!stored) {
    const details = { param: "previous_response_id", code: "previous_response_not_found" };
    throw refuse(c, 400, "previous_response_not_found", { id: id.slice(0, 100) }, details);
  }
  const { output } = JSON.parse(stored.response ?? "") as { output: Fields[] };
  return [...(JSON.parse(stored.input) as Fields[]), ...output];
}

/** Prepares to store a response with the items of its conversation. */
export async function prepareToStore(c: AppContext, items: Fields[], isWanted: boolean) {
  const objectId = c.env.ATTEMPTS.newUniqueId();
  const object = c.env.ATTEMPTS.get(objectId);
  // Asked for now, because the gateway's API cannot be called once the answer has begun. No account: the gateway refuses the key next.
  const account = isWanted ? await c.env.API.account() : undefined;
  let input = account === undefined ? undefined : JSON.stringify(items);
  const size = input?.length ?? 0;
  if (size > maxCharacters) input = undefined;
  let begun: Promise<boolean> | undefined;
  return {
    id: prefix + objectId.toString(),
    /** False if nothing is stored: the caller does not want it, or the conversation is too large. */
    isStored: input !== undefined,
    /** Stores the conversation. Call it when the gateway has accepted the chat. */
    begin() {
      if (input === undefined || account === undefined) return;
      begun = object.keepInput(account, input, c.env.OWNER?.keyId).then(
        () => true,
        (error: unknown) => logFault(error),
      );
      input = undefined; // not kept in memory while the answer is streamed
      c.executionCtx.waitUntil(begun);
    },
    /** Stores the ended response before the caller reads its end. */
    async end(response: Fields) {
      if (!begun) return;
      const text = JSON.stringify(response);
      // The answer is the caller's, whether or not it can be stored.
      if (size + text.length <= maxCharacters && (await begun)) await object.keepResponse(text).catch(logFault);
    },
  };
}

function logFault(error: unknown): false {
  console.error(JSON.stringify({ unit: "openai", outcome: "response_not_stored", error: String(error) }));
  return false;
}

/** The account of a caller with a valid key within its limits. Throws the gateway's error. */
async function admit(c: AppContext): Promise<string> {
  const refused = await c.env.API.countReads(1);
  if (refused) throw await toOpenAiError(refused);
  return (await c.env.API.account()) ?? "";
}

const notFound = (c: AppContext, id: string) => refuse(c, 404, "response_not_found", { id: id.slice(0, 100) });

export async function retrieveResponse(c: AppContext): Promise<Response> {
  const account = await admit(c);
  const id = c.req.param("id") ?? "";
  const stored = await find(c, id, account);
  if (!stored?.response) throw notFound(c, id);
  // A client that waits for events would read the JSON as none.
  if (c.req.query("stream") === "true") throw refuseField(c, "stream", "not_equal", { allowed: "false" });
  return c.body(stored.response, 200, { "content-type": "application/json" });
}

export async function deleteResponse(c: AppContext): Promise<Response> {
  const account = await admit(c);
  const id = c.req.param("id") ?? "";
  if (!(await find(c, id, account)) || !(await openObject(c, id)?.deleteResponse(account, c.env.OWNER?.ownWallets))) throw notFound(c, id);
  return c.json({ id, object: "response", deleted: true });
}
