/** The playground's form as a browser reads and sends it, for tests. */

import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { toObjectId } from "../../../src/base/ids.ts";
import type { Task } from "../../../src/tasks/record.ts";
import type { Account } from "../../support/gateway.ts";
import { Browser, person as signUp } from "../support.ts";
import { pixel } from "../../media/images.ts";

export const path = "/console/playground";
const rich = { SIGNUP_QUOTA: "1000" };
export const png = Uint8Array.fromBase64(pixel);

export const person = (vars: Partial<ConsoleEnv> = rich) => signUp(new Browser(vars));

export interface Form {
  /** The form values that a browser would send, without files. */
  values: Record<string, string>;
  /** Each form control by its name; radio buttons are one with their values as options. */
  controls: Map<string, { tag: string; attributes: Record<string, string>; options: string[] }>;
  fields: string[];
  /** The fields that are marked as wrong. */
  invalid: Set<string>;
}

const plain = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Parses the playground's form in a page as a browser would. */
export async function formIn(html: string): Promise<Form> {
  const form: Form = { values: {}, controls: new Map(), fields: [], invalid: new Set() };
  let select = "";
  let area = "";
  const control = (element: Element) => {
    const name = element.getAttribute("name")!;
    const attributes = Object.fromEntries(element.attributes);
    if (!form.controls.has(name)) form.controls.set(name, { tag: element.tagName, attributes, options: [] });
    if (element.getAttribute("aria-invalid") === "true") form.invalid.add(name);
    return name;
  };
  const input = (element: Element) => {
    if (element.getAttribute("name") === null || element.getAttribute("name")!.includes("NUMBER")) return;
    const name = control(element);
    const type = element.getAttribute("type");
    if (type === "file") return;
    const value = plain(element.getAttribute("value") ?? (type === "checkbox" ? "on" : ""));
    if (type === "radio") form.controls.get(name)!.options.push(value);
    if ((type === "checkbox" || type === "radio") && !element.hasAttribute("checked")) return;
    form.values[name] = value;
  };
  const textarea = {
    element(element: Element) {
      area = control(element);
      form.values[area] = "";
    },
    text: ({ text }: Text) => void (form.values[area] += text),
  };
  await new HTMLRewriter()
    .on("#form [data-field]", {
      element(element) {
        const names = element.getAttribute("data-field")!.split(" ");
        form.fields.push(...names);
        if (element.getAttribute("aria-invalid") === "true") for (const name of names) form.invalid.add(name);
      },
    })
    .on("#form input", { element: input })
    .on("#result input[form=form], #composer input[form=form]", { element: input })
    .on("#form select", { element: (element) => void (select = element.getAttribute("name")!.includes("NUMBER") ? "" : control(element)) })
    .on("#form select option", {
      element(element) {
        const value = element.getAttribute("value")!;
        if (!form.controls.has(select) || element.getAttribute("value") === null) return;
        form.controls.get(select)!.options.push(value);
        if (element.hasAttribute("selected") || form.values[select] === undefined) form.values[select] = value;
      },
    })
    .on("#form textarea", textarea)
    .on("#composer textarea", textarea)
    .transform(new Response(html))
    .text();
  for (const [name, { tag }] of form.controls) if (tag === "textarea") form.values[name] = plain(form.values[name] ?? "");
  return form;
}

const forms = new Map<string, Form>();

/** A model's form with a new idempotency key. The form is the same for every user, and fetched once. */
export async function readForm(browser: Browser, model: string): Promise<Form> {
  const form = forms.get(model) ?? (await formIn(await browser.read(`${path}?model=${encodeURIComponent(model)}`)));
  forms.set(model, form);
  return { ...form, values: { ...form.values, key: crypto.randomUUID() } };
}

/** Fills in a model's form and sends it. */
export async function send(browser: Browser, model: string, typed: Record<string, string>, way = "run"): Promise<Response> {
  const { values } = await readForm(browser, model);
  return browser.ask(path, { ...values, ...typed, do: way });
}

export const readRecord = async (account: Account, taskId: string): Promise<Task> =>
  (await env.TASKS.get(toObjectId(env.TASKS, taskId) ?? env.TASKS.newUniqueId()).read(account.id))!;

export async function run(browser: Browser, account: Account, model: string, typed: Record<string, string>): Promise<Task> {
  const response = await send(browser, model, typed);
  expect(response.status, await response.clone().text()).toBe(303);
  const [, id = ""] = /^\/console\/playground\?run=(task_[\w-]+)$/.exec(response.headers.get("location")!)!;
  return readRecord(account, id);
}

/** The amount on the button, or the maximum cost of a chat's next answer. */
export const shownPrice = (html: string) => /(?:value="run"|id="price")>.*?<data[^>]* value="([\d.]+)"/.exec(html)?.[1];
/** The total amount ever held for the account, in millionths. */
export async function held(account: Account): Promise<number> {
  const unwritten = await env.WALLETS.getByName(account.id).unwritten();
  const statement = env.DB.prepare("SELECT coalesce(sum(held), 0) AS held FROM entry WHERE account_id = ?1");
  const written = (await statement.bind(account.id).first<number>("held"))!;
  return unwritten.reduce((sum, entry) => sum + entry.held, written);
}
