/** The choices of the playground: the available models with their actions, from `/v1/models`. */

import type { ConsoleContext } from "../context.ts";
import { workKinds } from "../../base/words.ts";
import type { Action } from "../../catalog/models.ts";
import type { OwnPrice } from "../../catalog/own-price.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { readModels } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { type Field, toFields, toInputFields } from "./fields.ts";

export interface Choice {
  /** `vidA-2`, and `vidA-2:character` for another action of a model. */
  id: string;
  model: string;
  /** Its name for people. */
  title?: string | undefined;
  aliases: string[];
  action: Action;
  fields: Field[];
  /** From `/v1/models`. */
  price: Record<string, number>;
  /** Of a model with its own input. */
  priceRule?: OwnPrice | undefined;
  typicalSeconds: number;
}

/** The path of a remix names its source video; the schema only has the body. */
const source: Field = { as: "text", isUrl: false, name: "video_id", key: "video_id", isRequired: true };

/** The groups of the list, in display order. */
export const groups = workKinds;

export async function readChoices(c: ConsoleContext): Promise<Choice[]> {
  const [answer, catalog] = await Promise.all([askGateway(c, "/v1/models"), liveCatalog(c.env.DB)]);
  if (!answer.ok) throw new Error(`the models were refused: ${answer.status}`);
  return (await readModels(answer)).flatMap(({ id, kind, title, aliases, parameters, actions, price, price_rule: priceRule }): Choice[] => {
    const typicalSeconds = catalog.named(id)?.typicalSeconds ?? 0;
    return [
      {
        id,
        model: id,
        title,
        aliases,
        action: kind,
        fields: priceRule ? toInputFields(parameters) : toFields(parameters),
        price,
        ...(priceRule && { priceRule }),
        typicalSeconds,
      },
      ...Object.entries(actions ?? {}).map(([action, schema]) => ({
        id: `${id}:${action}`,
        model: id,
        aliases: [],
        action: action as Action,
        fields: [...(action === "remix" ? [source] : []), ...toFields(schema)],
        price,
        typicalSeconds,
      })),
    ];
  });
}

/** A path as readers see it: the source of a remix that is not chosen yet by its name. */
export const shownPath = (path: string) => path.replace("/task_/", "/{video_id}/");

/** The path of a request, and the rest of its body. */
export function toRequest({ model, action }: Choice, body: Record<string, unknown>): { path: string; body: Record<string, unknown> } {
  const { video_id: video = "task_", ...rest } = body as { video_id?: string };
  const paths: Record<Action, string> = {
    chat: "/v1/chat/completions",
    image: "/v1/images/generations",
    video: "/v1/videos/generations",
    character: "/v1/videos/generations",
    remix: `/v1/videos/${encodeURIComponent(video)}/remix`,
    file: "/v1/tasks",
  };
  return { path: paths[action], body: { model, ...rest } };
}
