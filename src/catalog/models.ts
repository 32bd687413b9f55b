/** The models that callers can use: the fields, price and typical duration of each. Data only. */

import type * as z from "zod/mini";
import { chatBody } from "./chat-schema.ts";
import { characterBody, image, remix, vidA, vidB, vidC, vidD } from "./schemas.ts";

export type Kind = "image" | "video" | "character" | "remix";
export type Action = Kind | "chat";
export type Family = "chat" | "image" | "video";

/** Prices in millionths of a balance unit. A name with `_x` is a factor. */
export interface Price {
  /** per image; `hd` costs `hd_x` times as much */
  image?: number;
  hd_x?: number;
  /** per second of video; 1080p costs `1080p_x` times as much */
  second?: number;
  "1080p_x"?: number;
  character?: number;
  /** per million tokens */
  input?: number;
  output?: number;
}

export interface Model {
  id: string;
  family: Family;
  aliases?: string[];
  /** The schema of each body, built when it is first called. */
  actions: Partial<Record<Action, () => z.ZodMiniType>>;
  price: Price;
  /** The typical duration of a task in seconds: used for `estimated_time`, and for progress if the upstream does not report it. */
  typicalSeconds: number;
}

const remixable = (durations: readonly number[], remixDurations: readonly number[], remixDefault: number) => ({
  video: vidA(durations),
  character: characterBody,
  remix: remix(remixDurations, remixDefault),
});

const models: Model[] = [
  { id: "textA-1", family: "chat", actions: { chat: chatBody }, price: { input: 2_000_000, output: 8_000_000 }, typicalSeconds: 5 },
  { id: "textA-1-mini", family: "chat", actions: { chat: chatBody }, price: { input: 200_000, output: 800_000 }, typicalSeconds: 3 },
  { id: "imgA-4", family: "image", actions: { image }, price: { image: 30_000, hd_x: 2 }, typicalSeconds: 15 },
  { id: "imgB-4o-image", family: "image", actions: { image }, price: { image: 40_000, hd_x: 2 }, typicalSeconds: 25 },
  {
    id: "imgC-3-pro-image-preview",
    family: "image",
    aliases: ["imgC-alias-pro"],
    actions: { image },
    price: { image: 120_000, hd_x: 2 },
    typicalSeconds: 25,
  },
  {
    id: "vidA-2",
    family: "video",
    actions: remixable([10, 15], [10, 15], 10),
    price: { second: 100_000, character: 50_000 },
    typicalSeconds: 120,
  },
  {
    id: "vidA-2-pro",
    family: "video",
    actions: remixable([10, 15, 25], [15, 25], 15),
    price: { second: 300_000, character: 50_000 },
    typicalSeconds: 240,
  },
  { id: "vidB-3.1-fast", family: "video", actions: { video: vidB }, price: { second: 150_000 }, typicalSeconds: 80 },
  { id: "vidB-3.1-quality", family: "video", actions: { video: vidB }, price: { second: 400_000 }, typicalSeconds: 160 },
  { id: "vidC-1-0-pro-fast", family: "video", actions: { video: vidC }, price: { second: 30_000, "1080p_x": 2 }, typicalSeconds: 65 },
  { id: "vidC-1-0-pro-quality", family: "video", actions: { video: vidC }, price: { second: 60_000, "1080p_x": 2 }, typicalSeconds: 180 },
  { id: "vidD-02", family: "video", actions: { video: vidD }, price: { second: 50_000, "1080p_x": 2 }, typicalSeconds: 180 },
];

const byName = new Map(models.flatMap((model) => [model.id, ...(model.aliases ?? [])].map((name) => [name, model] as const)));

/** The model with this name or alias, or undefined. */
export const modelNamed = (name: string): Model | undefined => byName.get(name);

/** Every name and alias. */
export const modelNames: readonly string[] = [...byName.keys()];

export const allModels = (): readonly Model[] => models;

/** The time limit of a task in seconds from its submission; then it fails as `deadline_exceeded`. */
export const deadlineSeconds: Record<Kind, number> = { image: 120, character: 300, video: 600, remix: 600 };

/** Seconds a caller should wait before the next status query. */
export const pollSeconds: Record<Kind, number> = { image: 3, video: 10, remix: 10, character: 5 };
