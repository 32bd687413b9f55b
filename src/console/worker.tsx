/** The console Worker: pages for people at /console, rendered here and whole without script. */

import pico from "@picocss/pico/css/pico.min.css";
import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { alert } from "../log.ts";
import ownStyle from "./console.css";
import { type ConsoleEnvironment, frame, languageCookie, page } from "./frame.tsx";
import { keys } from "./keys.tsx";
import { languageOf } from "./messages.ts";
import { overview } from "./overview.tsx";
import { signIn } from "./sign-in.tsx";

const styles: Record<string, string> = { "pico.css": pico, "console.css": ownStyle };

const app = new Hono<ConsoleEnvironment>()
  .onError((error, c) => {
    alert("console", { outcome: "internal_error" }, error);
    return page(c, c.get("say")("failed"), null, 500);
  })
  .notFound((c) => page(c, c.get("say")("not_found"), null, 404))
  .get("/console/static/:name", (c) => {
    const style = styles[c.req.param("name")];
    if (style === undefined) return c.text("not found", 404);
    return c.body(style, 200, {
      "content-type": "text/css; charset=utf-8",
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "nosniff",
    });
  })
  .use(frame)
  .get("/console/language", (c) => {
    setCookie(c, languageCookie, languageOf(c.req.query("to"), undefined), {
      path: "/console",
      maxAge: 31_536_000,
      httpOnly: true,
      sameSite: "Lax",
    });
    return c.redirect("/console", 303);
  })
  .route("/console", signIn)
  .route("/console/keys", keys)
  .route("/console", overview);

export default app satisfies ExportedHandler<ConsoleEnv>;
