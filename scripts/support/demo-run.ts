/** The steps of the demo: each makes one output, polls it, saves its files, checks them and records the cost. */

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type * as z from "zod/mini";
import {
  characterStatus,
  resultImages,
  taskAnswer,
  videoStatus,
  type PriceList,
  type Status,
  type Usage,
  type VideoStatus,
} from "./api-answers.ts";
import type { ApiClient, Download } from "./api-client.ts";
import { chatCost } from "./bill.ts";
import { digestFaults, mp4Faults, pngFaults } from "./file-checks.ts";
import type { ProgressBoard } from "./progress-board.ts";

/** The result of a step. */
export interface Made {
  name: string;
  model: string;
  files: string[];
  seconds: number;
  /** Balance units. */
  cost: number;
}

/** Settings of a run. */
export interface DemoRunOptions {
  api: ApiClient;
  prices: PriceList;
  board: ProgressBoard;
  outputDir: string;
  /** The lifetime of an asset in seconds. */
  assetTtl: number;
  /** The longest wait for one task. */
  taskDeadlineMs: number;
}

/** A request body; only fields that the checks need are declared. */
type Body<Known extends object = object> = { model: string; [field: string]: unknown } & Known;

interface Step {
  status: (status: Status) => void;
  fault: (text: string) => void;
  made: Made;
}

/** The names of files that a run writes. Other files in the directory are not touched. */
const ownFile = /^(chat|image|video|character|remix)[a-z0-9-]*\.(txt|png|jpg|mp4)$/;

/** One run of the demo. `made` and `faults` grow as its steps end; a step resolves to undefined if it failed. */
export class DemoRun {
  readonly made: Made[] = [];
  readonly faults: string[] = [];
  readonly #options: DemoRunOptions;

  constructor(options: DemoRunOptions) {
    this.#options = options;
  }

  /** Creates the output directory and removes an earlier run's files from it. */
  async prepare(): Promise<void> {
    const { outputDir } = this.#options;
    await mkdir(outputDir, { recursive: true });
    const old = (await readdir(outputDir)).filter((file) => ownFile.test(file));
    await Promise.all(old.map((file) => rm(join(outputDir, file))));
  }

  /** A chat answer, whole or streamed. */
  chat(name: string, model: string, prompt: string, stream: boolean): Promise<string | undefined> {
    return this.#step(name, model, async (step) => {
      const { text, usage } = stream ? await this.#streamed(step, model, prompt) : await this.#options.api.chat(model, prompt);
      await this.#save(step, `${name}.txt`, new TextEncoder().encode(text));
      if (!text.trim()) step.fault("the answer is empty");
      if (!usage) throw new Error("the answer has no usage");
      step.made.cost = chatCost(this.#options.prices, model, usage);
      if (step.made.cost <= 0) step.fault("it costs nothing");
      return text;
    });
  }

  /** One or more images of this size; resolves to their number. */
  images(name: string, body: Body<{ n?: number }>, pixels: { width: number; height: number }): Promise<number | undefined> {
    return this.#step(name, body.model, async (step) => {
      const status = await this.#complete(step, "/v1/images/generations", body, "/v1/tasks", taskAnswer, (answer) => answer.data);
      const images = resultImages(status.result);
      const wanted = body.n ?? 1;
      if (images.length !== wanted) step.fault(`${images.length} images were made, asked were ${wanted}`);
      for (const [index, image] of images.entries()) {
        this.#checkExpiry(step, status, image.expires_at);
        const download = await this.#download(step, image.url[0] ?? "");
        for (const fault of pngFaults(download, pixels)) step.fault(fault);
        await this.#save(step, wanted === 1 ? `${name}.png` : `${name}-${index + 1}.png`, download.bytes);
      }
      return images.length;
    });
  }

  /** A video, generated or remixed. */
  video(name: string, path: string, body: Body<{ duration: number }>): Promise<VideoStatus | undefined> {
    return this.#step(name, body.model, async (step) => {
      const status = await this.#complete(step, path, body, "/v1/videos/generations", videoStatus, (answer) => answer);
      this.#checkExpiry(step, status, status.expires_at);
      if (status.duration !== body.duration) step.fault(`the answer says ${status.duration} s, asked were ${body.duration}`);
      const video = await this.#download(step, status.url ?? "");
      for (const fault of await mp4Faults(video, status)) step.fault(fault);
      await this.#save(step, `${name}.mp4`, video.bytes);
      if (status.thumbnail) await this.#saveImage(step, `${name}-thumbnail`, status.thumbnail);
      return status;
    });
  }

  /** A character from a video; resolves to its username. */
  character(name: string, body: Body): Promise<string | undefined> {
    return this.#step(name, body.model, async (step) => {
      const status = await this.#complete(
        step,
        "/v1/videos/generations",
        body,
        "/v1/characters_tasks",
        characterStatus,
        (answer) => answer,
      );
      const character = status.result?.data.characters[0];
      if (!character?.username) throw new Error("no character in the result");
      await this.#saveImage(step, name, character.profile_picture_url);
      return character.username;
    });
  }

  /** Runs one step; a fault in it is recorded, and the other steps continue. */
  async #step<T>(name: string, model: string, work: (step: Step) => Promise<T>): Promise<T | undefined> {
    const line = this.#options.board.begin(name);
    const started = Date.now();
    const made: Made = { name, model, files: [], seconds: 0, cost: 0 };
    const before = this.faults.length;
    const fault = (text: string) => void this.faults.push(`${name}: ${text}`);
    try {
      line.update("asked", 0);
      const result = await work({ status: ({ status, progress }) => line.update(status, progress), fault, made });
      line.update(this.faults.length === before ? "checked" : "faulty", 100);
      return result;
    } catch (error) {
      fault(error instanceof Error ? error.message : String(error));
      line.update("failed", 0);
      return undefined;
    } finally {
      this.made.push({ ...made, seconds: (Date.now() - started) / 1000 });
    }
  }

  async #streamed(step: Step, model: string, prompt: string): Promise<{ text: string; usage: Usage | undefined }> {
    const { pieces, usage, done } = await this.#options.api.streamChat(model, prompt);
    if (!done) step.fault("the stream did not end with [DONE]");
    if (pieces.length < 2) step.fault("the answer did not come in pieces");
    return { text: pieces.join(""), usage };
  }

  /** Submits, polls until the end, and records the cost of a completed task: other tasks cost nothing. */
  async #complete<A, S extends Status>(
    step: Step,
    path: string,
    body: object,
    statusPath: string,
    shape: z.ZodMiniType<A>,
    read: (answer: A) => S,
  ): Promise<S> {
    const { api, taskDeadlineMs } = this.#options;
    const { id, metadata } = await api.submit(path, body);
    const status = await api.follow(`${statusPath}/${id}`, shape, read, { withinMs: taskDeadlineMs, onStatus: step.status });
    step.made.cost = metadata.reserved;
    return status;
  }

  #checkExpiry(step: Step, { completed_at: completedAt }: Status, expiresAt: number | undefined): void {
    const expected = (completedAt ?? Number.NaN) + this.#options.assetTtl;
    if (expiresAt !== expected) step.fault(`expires_at is ${expiresAt}, expected was ${expected}`);
  }

  /** A small image of unknown size: PNG or JPEG. */
  async #saveImage(step: Step, name: string, url: string): Promise<void> {
    const download = await this.#download(step, url);
    const jpeg = download.type === "image/jpeg" && download.bytes[0] === 0xff && download.bytes[1] === 0xd8;
    if (!jpeg) for (const fault of pngFaults(download)) step.fault(fault);
    await this.#save(step, `${name}.${jpeg ? "jpg" : "png"}`, download.bytes);
  }

  async #download(step: Step, url: string): Promise<Download> {
    const download = await this.#options.api.download(url);
    for (const fault of digestFaults(download)) step.fault(fault);
    return download;
  }

  async #save(step: Step, file: string, bytes: Uint8Array): Promise<void> {
    await writeFile(join(this.#options.outputDir, file), bytes);
    step.made.files.push(file);
  }
}
