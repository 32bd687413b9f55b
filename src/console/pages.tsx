/** Every page of the console, at /console: rendered here, and whole without script. */

import pico from "@picocss/pico/css/pico.min.css";
import htmx from "htmx.org/dist/htmx.min.js";
import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { alert } from "../log.ts";
import uPlot from "uplot/dist/uPlot.iife.min.js";
import uPlotStyle from "uplot/dist/uPlot.min.css";
import { account } from "./account/page.tsx";
import { admin } from "./admin/pages.tsx";
import { characters } from "./characters.tsx";
import ownScript from "./client/console.js";
import countdown from "./client/countdown.js";
import passkeyScript from "./client/passkeys.js";
import playgroundScript from "./client/playground.js";
import usageScript from "./client/usage.js";
import ownStyle from "./console.css";
import { BadForm, type ConsoleEnvironment, frame, languageCookie, page } from "./frame.tsx";
import { keys } from "./keys/list.tsx";
import { chooseLanguage } from "./messages.ts";
import { overview } from "./overview.tsx";
import { playground } from "./playground/playground.ts";
import { recover } from "./recover.tsx";
import { signIn } from "./sign-in.tsx";
import { tasks } from "./tasks/pages.ts";
import { usage } from "./usage/page.tsx";

/** Part of this Worker, from npm packages at build time. */
const files: Record<string, string> = {
  "pico.css": pico,
  "console.css": ownStyle,
  "htmx.js": htmx,
  "console.js": ownScript,
  "uplot.js": uPlot,
  "uplot.css": uPlotStyle,
  "usage.js": usageScript,
  "countdown.js": countdown,
  "playground.js": playgroundScript,
  "passkeys.js": passkeyScript,
};
const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" };

/** The page of the console whose link was followed: path and query on this very host, or undefined. */
function cameFrom({ url, headers }: Request): string | undefined {
  const from = URL.parse(headers.get("referer") ?? "");
  return from?.origin === new URL(url).origin && /^\/console(\/|$)/.test(from.pathname) ? from.pathname + from.search : undefined;
}

export const pages = new Hono<ConsoleEnvironment>()
  .onError((error, c) => {
    if (error instanceof BadForm) return page(c, c.get("say")("form_broken"), null, error.isTooLarge ? 413 : 400);
    alert("console", { outcome: "internal_error" }, error);
    return page(c, c.get("say")("failed"), null, 500);
  })
  .notFound((c) => page(c, c.get("say")("not_found"), null, 404))
  .get("/console/static/:name", (c) => {
    const name = c.req.param("name");
    const file = files[name];
    if (file === undefined) return c.text("not found", 404);
    return c.body(file, 200, {
      "content-type": types[name.endsWith(".css") ? "css" : "js"],
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "nosniff",
    });
  })
  .use(frame)
  .get("/console/language", (c) => {
    setCookie(c, languageCookie, chooseLanguage(c.req.query("to"), undefined), {
      path: "/console",
      maxAge: 31_536_000,
      httpOnly: true,
      sameSite: "Lax",
    });
    return c.redirect(cameFrom(c.req.raw) ?? "/console", 303);
  })
  .route("/console", signIn)
  .route("/console", recover)
  .route("/console", account)
  .route("/console/playground", playground)
  .route("/console/tasks", tasks)
  .route("/console/characters", characters)
  .route("/console/usage", usage)
  .route("/console/keys", keys)
  .route("/console/admin", admin)
  .route("/console", overview);
