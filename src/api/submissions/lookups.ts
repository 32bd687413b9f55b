/** What the bodies of several submissions name, looked up once for all of them. */

import type { StoredFile } from "../../db/files.ts";

export interface Lookups {
  /** Files by id; null for an id that names none. */
  files: Map<string, StoredFile | null>;
  /** Destinations by name: whether the account has them. */
  destinations: Map<string, boolean>;
}

export const newLookups = (): Lookups => ({ files: new Map(), destinations: new Map() });
