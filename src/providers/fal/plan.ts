/** A call of the fal queue as it is planned. Inputs are those of fal-ai/fal-js, `endpoints.ts` of 2026-08-02, where no other source is named. */

/** One call. `images` says which images go into which field: by their index among the request's images and, after those, its characters. */
export interface Plan {
  endpoint: string;
  input: Record<string, unknown>;
  images: Record<string, number | number[]>;
}
/** The request field that the endpoint cannot honour. */
export interface Unsupported {
  unsupported: string;
}
