/** A bare pass-through on the same runtime: what any gateway on it costs at least. It is never deployed. */

export default {
  fetch: (request: Request, { UPSTREAM }: { UPSTREAM: string }) => fetch(`${UPSTREAM}/chat/completions`, request),
};
