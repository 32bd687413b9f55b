/** A bare pass-through on the same runtime: the minimum cost of any gateway on it. It is never deployed. */

import { useNetwork } from "./network.ts";

useNetwork();

export default {
  fetch: (request: Request, { UPSTREAM }: { UPSTREAM: string }) => fetch(`${UPSTREAM}/chat/completions`, request),
};
