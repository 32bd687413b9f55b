/** Inserts HTML that was rendered when the site was built. */

import { raw } from "hono/html";

/** `html` may only come from this repository, never from callers. */
export const Html = ({ html }: { html: string }) => <>{raw(html)}</>;
