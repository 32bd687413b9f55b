/** Before each test file: prepares the runtime, which files share one after the other (`test/support/alone.ts` for files that must not). */

import { afterEach, vi } from "vitest";
import { printLinesOfFailures } from "./support/console-lines.ts";
import { migrate, renew, runtime } from "./support/runtime.ts";

if (runtime.state === "alone") await renew();
else await migrate();
printLinesOfFailures();
// No spy outlives its test.
afterEach(() => void vi.restoreAllMocks());
runtime.state = runtime.state === undefined || runtime.state === "alone" ? "new" : "shared";
