/** The address and credentials of an OpenAI-compatible upstream. */

export interface Upstream {
  /** Base URL without a slash at the end */
  base: string;
  headers: Record<string, string>;
}
