/** The stylesheet, concatenated from its files. */

import admin from "./admin.css";
import base from "./base.css";
import batches from "./batches.css";
import billing from "./billing.css";
import buttons from "./buttons.css";
import charts from "./charts.css";
import chat from "./chat.css";
import choices from "./choices.css";
import codeTabs from "./code-tabs.css";
import common from "./common.css";
import docs from "./docs.css";
import fields from "./fields.css";
import gallery from "./gallery.css";
import lists from "./lists.css";
import helpers from "./helpers.css";
import narrow from "./narrow.css";
import overlays from "./overlays.css";
import phone from "./phone.css";
import playground from "./playground.css";
import print from "./print.css";
import results from "./results.css";
import publicPages from "./public.css";
import rooms from "./rooms.css";
import search from "./search.css";
import shell from "./shell.css";
import status from "./status.css";
import steps from "./steps.css";
import surfaces from "./surfaces.css";
import task from "./task.css";
import team from "./team.css";
import tokens from "./tokens.css";
import verify from "./verify.css";

const parts = [common, shell, buttons, fields, choices, status, surfaces, lists, overlays, search, codeTabs, phone];
const pages = [
  playground,
  results,
  chat,
  rooms,
  gallery,
  task,
  charts,
  batches,
  billing,
  steps,
  publicPages,
  docs,
  verify,
  team,
  admin,
  helpers,
  narrow,
  print,
];

/** The whole stylesheet. `toPath` returns the path of a served file, for `url("name")` of fonts. */
export const style = (toPath: (name: string) => string): string =>
  [tokens, base, ...parts, ...pages]
    .join("\n")
    .replace(/url\("([^"]+)"\)/g, (_, name: string) => `url("${toPath(name)}")`)
    .replace(/\/\*[^]*?\*\//g, "")
    .replace(/\n\s*/g, "\n");
