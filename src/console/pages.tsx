/** Every page for browsers, at /, /docs and /console: rendered here, and complete without script. */

import type { ConsoleEnvironment } from "./context.ts";
import { Hono } from "hono";
import { alert } from "../base/log.ts";
import { account } from "./account/page.tsx";
import { admin } from "./admin/pages.tsx";
import { batches } from "./batches/pages.ts";
import { destinations } from "./batches/destinations.tsx";
import { files } from "./batches/files.tsx";
import { billing } from "./billing/page.tsx";
import { credit } from "./billing/credit.tsx";
import { chat } from "./chat/pages.tsx";
import { characters } from "./characters.tsx";
import { BadForm } from "./forms.ts";
import { fileGone, frame, keepChoice, languageCookie, nothingHere, page, recognize, tooMany, withLanguage } from "./frame.tsx";
import { keys } from "./keys/list.tsx";
import { chooseLanguage } from "./messages.ts";
import { logs } from "./logs/page.tsx";
import { models } from "./models/page.tsx";
import { overview } from "./overview.tsx";
import { playground } from "./playground/playground.tsx";
import { recover } from "./recover.tsx";
import { TooMany } from "./request-limits.ts";
import { protectiveHeaders } from "./secure-headers.ts";
import { auditLog } from "./team/audit-log.tsx";
import { joining } from "./team/join.tsx";
import { members } from "./team/routes.ts";
import { themeCookie, parseTheme } from "./shell/theme.ts";
import { search } from "./search/pages.tsx";
import { signIn } from "./sign-in.tsx";
import { signOnOnly } from "./sign-on-only.ts";
import { site } from "./site/site.tsx";
import { staticFile } from "./static-files.ts";
import { tasks } from "./tasks/pages.ts";
import { serveThumbnail } from "./tasks/thumbnails.ts";
import { trying } from "./site/try.tsx";
import { usage } from "./usage/page.tsx";
import { webhooks } from "./webhooks/page.tsx";

/** The page with the link that was followed: path and query on this host, or undefined. */
function cameFrom({ url, headers }: Request): string | undefined {
  const from = URL.parse(headers.get("referer") ?? "");
  return from?.origin === new URL(url).origin && /^\/((console|docs|status|verify)(\/|$)|$)/.test(from.pathname)
    ? from.pathname + from.search
    : undefined;
}

export const pages = new Hono<ConsoleEnvironment>()
  .onError((error, c) => {
    if (error instanceof BadForm) return page(c, c.var.t(error.status === 408 ? "form_late" : "form_broken"), null, error.status);
    c.header("cache-control", "no-store");
    if (error instanceof TooMany) return tooMany(c);
    alert("console", { outcome: "internal_error" }, error);
    return page(c, c.var.t("failed"), null, 500);
  })
  .notFound(async (c) => {
    const { pathname, search } = new URL(c.req.url);
    // Not for an address like `//other.host/`, which browsers would take for another site.
    if (c.req.method === "GET" && pathname.endsWith("/") && !pathname.startsWith("//"))
      return c.redirect(pathname.replace(/\/+$/, "") + search, 301);
    await recognize(c);
    return nothingHere(c);
  })
  .use(withLanguage)
  .use(protectiveHeaders)
  .get("/console/static/:name", (c) => staticFile(c.req.param("name"), c.req.header("range")))
  .get("/console/thumbnails/*", serveThumbnail)
  .route("/", site)
  .use(frame)
  .get("/assets/*", fileGone)
  .get("/characters/*", fileGone)
  .get("/console/language", (c) => {
    keepChoice(c, languageCookie, chooseLanguage(c.req.query("to"), undefined));
    return c.redirect(cameFrom(c.req.raw) ?? "/console", 303);
  })
  .get("/console/theme", (c) => {
    keepChoice(c, themeCookie, parseTheme(c.req.query("to")));
    return c.redirect(cameFrom(c.req.raw) ?? "/console", 303);
  })
  .use("/console/*", signOnOnly)
  .route("/console", signIn)
  .route("/console", recover)
  .route("/console", joining)
  .route("/console", account)
  .route("/console/playground", playground)
  .route("/console/chat", chat)
  .route("/console/tasks", tasks)
  .route("/console/characters", characters)
  .route("/console/models", models)
  .route("/console/usage", usage)
  .route("/console/batches", batches)
  .route("/console/files", files)
  .route("/console/destinations", destinations)
  .route("/console/billing", billing)
  .route("/console/credit", credit)
  .route("/console/logs", logs)
  .route("/console/webhooks", webhooks)
  .route("/console/search", search)
  .route("/console/try", trying)
  .route("/console/keys", keys)
  .route("/console/members", members)
  .route("/console/audit-log", auditLog)
  .route("/console/admin", admin)
  .route("/console", overview);
