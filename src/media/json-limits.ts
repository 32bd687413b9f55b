/** Limits the depth and the number of values of JSON from outside: a value can take twenty times as much memory as its text. */

import { JsonBodyError } from "./json-error.ts";
import { closingQuote, JsonScanner, maxValues } from "./json-scanner.ts";

/** Low enough for recursive functions that read the value. */
export const maxDepth = 64;

/**
 * `JSON.parse` with limits.
 * @throws JsonBodyError `too_complex`, before anything is parsed; SyntaxError.
 */
export function parseJson(text: string, limit = maxValues): unknown {
  if (exceedsLimits(text, limit)) {
    for (const _ of new JsonScanner(maxDepth).parts(text)); // throws, and names the list
    throw new JsonBodyError("too_complex");
  }
  return JSON.parse(text);
}

/** Whether a JSON text is nested too deep or has more values than `limit`, which counts as `maxValues` does. */
export function exceedsLimits(text: string, limit = maxValues): boolean {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = closingQuote(text, at + 1);
      if (at === -1) return false; // not JSON
    } else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === 0x2c || code === 0x5b || code === 0x7b) {
      if (++values > limit || (code !== 0x2c && ++depth > maxDepth)) return true;
    }
  }
  return false;
}
