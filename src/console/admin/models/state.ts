/** What the page of one model shows: the draft, what the gateway said of it, and the model as it is sold. */

import type { Model } from "../../../catalog/models.ts";
import type { Upstreams } from "../../../rpc/console-api.ts";
import type { Revision, Verdict } from "./changes.ts";
import type { Draft } from "./draft.ts";

export interface Editor {
  draft: Draft;
  /** Newest first. */
  revisions: Revision[];
  upstreams: Upstreams;
  /** The model as it is sold now; undefined if it is new or was removed. */
  live: Model | undefined;
  /** The gateway's answer to the draft; undefined if it was not asked. */
  verdict: Verdict | undefined;
}

export const path = "/console/admin/models";

export const makerPath = `${path}/_maker`;

export const pathOf = (id: string) => `${path}/${encodeURIComponent(id)}`;
