/** What a model can do, read from the fields of its requests: short words for lists, and what the list is filtered by. */

import type { Translate } from "../messages.ts";
import type { Choice } from "../playground/choices.ts";
import type { Field } from "../playground/fields.ts";

/** What the list of models is filtered by. */
export const abilities = ["images", "frames", "1080p", "hd", "character", "remix", "tools"] as const;
export type Ability = (typeof abilities)[number];

const optionsOf = (field: Field | undefined): string[] => (field?.as === "choice" ? field.options.map(String) : []);

/** `others` are the model's other actions. */
export function listAbilities(t: Translate, { fields }: Choice, others: readonly Choice[]): { ability?: Ability; text: string }[] {
  const find = (key: string) => fields.find((one) => one.key === key);
  const can = (ability: Ability, is: boolean) => (is ? [{ ability, text: t(`model_can_${ability}`) }] : []);
  const [duration, images, count] = [find("duration"), find("images"), find("n")];
  const seconds = duration?.as === "number" ? `${duration.minimum ?? ""}–${duration.maximum ?? ""}` : optionsOf(duration).join(", ");
  const shapes = optionsOf(find("size")).length;
  const most = images && "most" in images ? images.most : undefined;
  return [
    ...(seconds === "" ? [] : [{ text: t("length_seconds", { seconds }) }]),
    ...(count?.as === "number" && (count.maximum ?? 1) > 1 ? [{ text: t("model_can_count", { count: count.maximum ?? 1 }) }] : []),
    ...(shapes > 1 ? [{ text: t("model_can_shapes", { count: shapes }) }] : []),
    ...(most === undefined ? [] : [{ ability: "images" as const, text: t("model_can_references", { count: most }) }]),
    ...can("frames", find("image_with_roles") !== undefined || find("last_frame_image") !== undefined),
    ...can("1080p", optionsOf(find("resolution")).includes("1080p")),
    ...can("hd", optionsOf(find("quality")).includes("hd")),
    ...can("tools", find("tools") !== undefined),
    ...can(
      "character",
      others.some(({ action }) => action === "character"),
    ),
    ...can(
      "remix",
      others.some(({ action }) => action === "remix"),
    ),
  ];
}
