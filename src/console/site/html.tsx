/** Text that was rendered when the site was built, put into a page as it is. */

import { raw } from "hono/html";

/** `html` comes from this repository alone, never from callers. */
export const Html = ({ html }: { html: string }) => <>{raw(html)}</>;
