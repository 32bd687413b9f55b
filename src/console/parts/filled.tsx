/** A message with elements in the places of its `{placeholders}`: each language has its own order. */

import type { Child } from "hono/jsx";
import type { Translate } from "../messages.ts";
import { useAround } from "./context.ts";

export const Filled = ({ message, by }: { message: Parameters<Translate>[0]; by: Record<string, Child> }) => {
  const pieces = useAround()
    .t(message)
    .split(/\{(\w+)\}/);
  return <>{pieces.map((piece, at) => (at % 2 === 1 ? by[piece] : piece))}</>;
};
