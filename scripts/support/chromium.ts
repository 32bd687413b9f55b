/** This machine's browser for tests and screenshots: Debian's Chromium without a window. */

import { existsSync } from "node:fs";
import type { LaunchOptions } from "playwright-core";

/** The launch options; throws a message for the user if it is not installed. */
export function chromiumOptions(): LaunchOptions {
  const executablePath = process.env["CHROMIUM"] || "/usr/bin/chromium";
  if (!existsSync(executablePath))
    throw new Error(
      `There is no browser at ${executablePath}. Install Debian's package chromium, or set CHROMIUM to the path of another one.`,
    );
  // Chromium's own sandbox does not work for root.
  return { executablePath, chromiumSandbox: process.getuid?.() !== 0 };
}
