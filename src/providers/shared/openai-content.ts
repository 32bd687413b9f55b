/** Files that only the operator's key opens: the key goes to the upstream's own origin and nowhere else. */

import { ask, toFault, laterFault, opened, outputAt } from "./http.ts";
import type { Output } from "../provider.ts";

const mostHops = 3;

/** A file at the upstream itself. Storage that it redirects to is asked without the key. */
export function contentBehindKey(url: string, headers: Record<string, string>, hops = mostHops): Output {
  return {
    async open() {
      const response = await ask(globalThis, url, { headers, redirect: "manual" });
      const location = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && location !== null && hops > 0) {
        await response.body?.cancel();
        const target = new URL(location, url);
        const isOwn = target.origin === new URL(url).origin;
        return (isOwn ? contentBehindKey(target.href, headers, hops - 1) : outputAt(target.href)).open();
      }
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        throw laterFault(toFault(response, "output"));
      }
      return opened(response, response.body);
    },
  };
}
