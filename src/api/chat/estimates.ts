/** `POST /v1/estimates`: the dry run of any submission or chat. The body is that of its path; `model` says which path it is. */

import { admitToSubmit } from "../request/auth.ts";
import { requireTasksLeft } from "../request/client-tokens.ts";
import type { AppContext, Handle } from "../request/context.ts";
import { readLargeBody } from "../request/large-body.ts";
import { requireVariables } from "../request/variable-checks.ts";
import { previewChat } from "./chat.ts";
import { previewSubmission } from "../submissions/submit.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { findModel } from "../../catalog/parse.ts";

export const estimate: Handle = async (c) => {
  c.set("isEstimate", true);
  await admitToSubmit(c, "client tokens");
  requireTasksLeft(c);
  const read = await readLargeBody(c, "", { keepsImages: false });
  const catalog = await liveCatalog(c.env.DB);
  const family = findFamily(catalog, read.body["model"]);
  if (family === "chat") return estimateChat(c, read.body, catalog);
  requireVariables(c.env, "task");
  const { video_id: videoId, ...body } = read.body;
  if (videoId === undefined || family === "file") return previewSubmission(c, "task", read);
  if (family === "image") throw invalid("video_id", "unsupported_parameter");
  if (typeof videoId !== "string") throw invalid("video_id", "wrong_type", { expected: "string" });
  return previewSubmission(c, "remix", { ...read, body }, videoId);
};

/** A client token makes no chats, so it learns no prices of theirs. */
function estimateChat(c: AppContext, body: Record<string, unknown>, catalog: Catalog): Promise<Response> {
  if (c.get("caller").token) throw new ApiError("key_scope");
  requireVariables(c.env, "chat");
  return previewChat(c, body, catalog);
}

/** The family of the named model. Throws 400 with all names that are sold. */
function findFamily(catalog: Catalog, name: unknown) {
  const { model, violation, code } = findModel(catalog, name, "any");
  if (!model) throw new ApiError(code, { violations: violation ? [violation] : [] });
  return model.family;
}
