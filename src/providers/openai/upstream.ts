/** The address and credentials of an OpenAI-compatible upstream. */

export interface Upstream {
  /** Base URL without a trailing slash */
  base: string;
  headers: Record<string, string>;
}
