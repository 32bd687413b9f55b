/** `models`: the gateway's models and their aliases. */

import { aliasNames, resolveModel } from "./aliases.ts";
import { ask } from "./ask.ts";
import type { AppContext } from "./paths.ts";

interface Entry {
  id: string;
}

/** The gateway's models, then every alias. */
export async function modelList(c: AppContext): Promise<Response> {
  const list = await (await ask(c, "/v1/models")).json<{ data: Entry[] }>();
  const named = aliasNames(c.env).flatMap((id) => {
    const entry = list.data.find((one) => one.id === resolveModel(c.env, id).model);
    return entry ? { ...entry, id } : [];
  });
  return c.json({ ...list, data: [...list.data, ...named] });
}

export async function modelEntry(c: AppContext): Promise<Response> {
  const { asked, model } = resolveModel(c.env, c.req.param("id") ?? "");
  const entry = await (await ask(c, `/v1/models/${encodeURIComponent(model)}`)).json<Entry>();
  return c.json({ ...entry, ...(asked !== model && { id: asked }) });
}
