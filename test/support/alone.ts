/**
 * The first import of a test file that must not see what other files stored or what their modules learned: it gets new storage and new
 * modules, and so does the file after it. Imports are evaluated in order, so those below it load new modules.
 */

import { renew, runtime } from "./runtime.ts";

if (runtime.state !== "new") await renew();
runtime.state = "alone";
