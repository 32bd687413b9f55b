/** Files that clients send. */

import { encode } from "fast-png";

/** A PNG of 16 by 16 pixels. */
export const dot = Buffer.from(encode({ width: 16, height: 16, data: new Uint8Array(16 * 16 * 3).fill(200), channels: 3, depth: 8 }));
