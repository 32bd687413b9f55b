/** Parts of a page that refresh themselves: the page is requested again, and its part replaces the old one. */

/** The refresh attributes of the element `id`; a part rendered without them stops refreshing. A failed request changes nothing. */
export const live = (path: string, id: string, trigger: "every 2s" | "every 3s" | "every 5s" | "every 30s" | "expired") => ({
  id,
  "hx-get": path,
  "hx-trigger": trigger,
  "hx-select": `#${id}`,
  "hx-swap": "outerMorph",
  "hx-status:4xx": "swap:none",
  "hx-status:5xx": "swap:none",
});
