/** The operations Worker, which does slow or rare work. */

import { ApiError } from "../errors.ts";
import type { OperationsWorker } from "../operations/objects.ts";
import type { AppContext } from "./frame.ts";

/** Throws 404 if it is not deployed. */
export function operationsWorker(c: AppContext): OperationsWorker {
  if (!c.env.OPERATIONS) throw new ApiError("not_found");
  return c.env.OPERATIONS;
}
