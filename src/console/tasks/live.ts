/** Parts of a page that renew themselves: the page is asked for again, and the part of it put where the old one was. */

/** Attributes of the element `id`; without them the next time round it has come to rest. A page that cannot be had changes nothing. */
export const live = (path: string, id: string, trigger: "every 2s" | "every 3s" | "expired") => ({
  id,
  "hx-get": path,
  "hx-trigger": trigger,
  "hx-select": `#${id}`,
  "hx-swap": "outerMorph",
  "hx-status:4xx": "swap:none",
  "hx-status:5xx": "swap:none",
});
