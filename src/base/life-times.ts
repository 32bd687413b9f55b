/** How long the gateway keeps what a task made, and its record after it ended, in seconds. A local gateway may shorten both (`src/config.ts`). */

export const assetSeconds = 86_400;
export const recordSeconds = 7 * 86_400;
