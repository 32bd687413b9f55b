/** What a model is: its fields, price, routes and times, as an entry of data and as the gateway uses it. */

import type * as z from "zod/mini";
import type { fileFamilies, taskKinds, workKinds } from "../base/words.ts";
import type { OwnInput } from "./own-body.ts";
import type { JsonSchema } from "./own-schema.ts";
import type { OwnPrice } from "./own-price.ts";

export type Kind = (typeof taskKinds)[number];
export type Action = (typeof workKinds)[number];
export type Family = "chat" | (typeof fileFamilies)[number];

/** Prices in millionths of a balance unit. A name with `_x` is a factor. */
export interface Price {
  /** per image; `hd` costs `hd_x` times as much */
  image?: number;
  hd_x?: number;
  /** per second of video; 1080p costs `1080p_x` times as much */
  second?: number;
  "1080p_x"?: number;
  character?: number;
  /** per million tokens; input tokens that the maker had cached cost `cached_input`, if there is one */
  input?: number;
  cached_input?: number;
  output?: number;
}

/** Costs of a route in millionths: those of prices, and those of what the maker reports. */
export interface Cost extends Price {
  /** per second that the maker's machine worked */
  run_second?: number;
  /** per dollar of the cost that the maker reports */
  usd?: number;
}

/** The schema of the body of each action, built when it is first called. */
export type Actions = Partial<Record<Action, () => z.ZodMiniType>>;

/** One way to serve a model: a provider's name and the provider's model id. */
export interface Route {
  provider: string;
  model: string;
  /** Settings of this model for the provider's adapter. */
  settings?: Record<string, string | number | boolean | string[]> | undefined;
  /** The day on which the maker ends the upstream model, `2027-01-14`: from its beginning (UTC) the route is passed over. */
  retires?: string | undefined;
  /** What an attempt costs the operator, in balance units, as a price and by what the maker reports; without it the cost is not known. */
  cost?: Record<string, number> | OwnPrice | undefined;
  /** True if the maker bills work that it fails or refuses. */
  bills_failures?: boolean | undefined;
  /** True if the route is tried before the others by requests that have no images and name no characters. */
  first_without_images?: boolean | undefined;
}

/** A model as data: an entry of `models.txt` or of the operator. Amounts in balance units. For a built-in model an operator's entry has only what differs. */
export interface Entry {
  id: string;
  kind?: "text" | (typeof fileFamilies)[number] | undefined;
  /** Its name for people; callers send `id`. */
  title?: string | undefined;
  aliases?: string[] | undefined;
  /** `like:` and the id of the built-in model whose body it has, or the JSON Schema of the upstream's own input; absent for text. */
  body?: string | JsonSchema | undefined;
  /** Of a model with its own input the rule is an `OwnPrice`. */
  price?: Record<string, number> | OwnPrice | undefined;
  typical_seconds?: number | undefined;
  deadline_seconds?: number | undefined;
  /** `hidden`: not listed and not sold. */
  state?: "live" | "hidden" | undefined;
  routes?: Route[] | undefined;
}

export interface Model {
  id: string;
  title?: string;
  family: Family;
  aliases: readonly string[];
  /** The built-in model whose body, limits and roles it has: for those models themselves their own id; empty for a model with its own input. */
  like: string;
  /** The schema and price of the upstream's own input, in place of a body of the interface. */
  own?: OwnInput;
  actions: Actions;
  price: Price;
  /** The typical duration of a task in seconds: used for `estimated_time`, and for progress if the upstream does not report it. */
  typicalSeconds: number;
  /** The time limit of its tasks, if the operator set one. */
  deadlineSeconds?: number;
  /** `removed`: the operator deleted it. It is neither listed nor sold, and its tasks can still be found. */
  state: "live" | "hidden" | "removed";
  /** In the order in which they are tried. */
  routes: readonly Route[];
  /** True if the operator chose the routes. */
  hasOwnRoutes: boolean;
}

/** The time limit of a task in seconds from its submission; then it fails as `deadline_exceeded`. */
export const deadlineSeconds: Record<Kind, number> = { image: 120, character: 300, video: 600, remix: 600, file: 600 };

/** Seconds a caller should wait before the first status query, and before each further one. */
export const firstPollSeconds: Record<Kind, number> = { image: 2, video: 5, remix: 5, character: 5, file: 5 };
export const pollSeconds: Record<Kind, number> = { image: 3, video: 10, remix: 10, character: 5, file: 10 };

/** True if the model's videos have the field `metadata.watermark`. Remixes have none. */
export const hasWatermark = ({ like }: Pick<Model, "like">): boolean => /^vid[AD]/.test(like);
