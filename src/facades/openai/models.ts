/** `models`: the gateway's models and their aliases. */

import type { AppContext } from "./context.ts";
import { type ModelEntry, toSegment } from "../client.ts";
import { aliasNames, resolveModel } from "./aliases.ts";

/** The gateway's models, then every alias that leads to one. */
export async function modelList(c: AppContext): Promise<Response> {
  const list = await c.var.gateway.read<{ data: ModelEntry[] }>("/v1/models");
  const named = aliasNames(c.env).flatMap((id) => {
    const entry = list.data.find((one) => [one.id, ...one.aliases].includes(resolveModel(c.env, id).model));
    return entry && entry.id !== id ? { ...entry, id } : [];
  });
  return c.json({ ...list, data: [...list.data, ...named] });
}

export async function modelEntry(c: AppContext): Promise<Response> {
  const { asked, model } = resolveModel(c.env, c.req.param("id") ?? "");
  const entry = await c.var.gateway.read<ModelEntry>(`/v1/models/${toSegment(model)}`);
  return c.json({ ...entry, ...(asked !== model && { id: asked }) });
}
