/** Links that open a request beside the list of requests. */

/** The attributes of a link that changes what stands beside the list, which stays where it is. `key` follows it by keyboard. */
export const beside = (path: string, key?: string) => ({
  "hx-get": path,
  "hx-target": "#logs",
  "hx-select": "#logs",
  "hx-swap": "outerMorph",
  "hx-push-url": "true",
  "data-key": key,
});
