/** The client: every path of the API as a method, and those that submit, wait and download. */

import { ConnectionError, DeliveryFailedError, TaskFailedError, toError } from "./errors.js";
import { Download, inLanes, toFile } from "./files.js";
import { type GatewayOptions, Http, type RequestOptions, sleep } from "./http.js";
import { events, lines, List, type Page, Stream } from "./streams.js";
import type * as t from "./generated/types.gen.js";

/** A body whose URLs of files may also be files themselves: they are uploaded first. */
export type WithFiles<T> = T extends string
  ? T | (string extends T ? Blob : never)
  : T extends (infer Item)[]
    ? WithFiles<Item>[]
    : T extends object
      ? { [Name in keyof T]: WithFiles<T[Name]> }
      : T;

/** The fields of a built-in model; of one that the operator has added, all that videos may have. */
export type VideoBody<Model extends string> = { model: Model } & WithFiles<
  Model extends t.NewVideoRequest["model"] ? t.NewVideoRequest : t.OtherVideoRequest
>;
export type RemixBody<Model extends string> = { model: Model } & (Model extends t.NewRemixRequest["model"]
  ? t.NewRemixRequest
  : t.OtherRemixRequest);

export interface SubmitOptions extends RequestOptions {
  /** For 24 hours the same key and body are one task and one charge, so that a restarted program continues. Random by default. */
  idempotencyKey?: string | undefined;
  /** Where the files are delivered once the task has completed. */
  deliverTo?: t.DeliverTo | undefined;
}
export interface WaitOptions extends RequestOptions {
  /** Called with the task whenever its progress has changed. */
  onProgress?: ((task: t.Task) => void) | undefined;
}
export type GenerateOptions = SubmitOptions & WaitOptions;

type Query<Data extends { query?: unknown }> = Omit<NonNullable<Data["query"]>, "after">;
/** A name as one part of a path. No name is "0", which nothing has: otherwise it would be the path of a list. */
const part = (name: string) => encodeURIComponent(name || 0);

/** A client of the gateway. */
export class Gateway {
  private readonly http: Http;
  private readonly lanes = inLanes();
  constructor(options: GatewayOptions = {}) {
    this.http = new Http(options);
  }

  readonly images = {
    /** Submits and returns the task at once. */
    create: (body: WithFiles<t.ImageRequest>, options?: SubmitOptions) => this.submit("/v1/images/generations", body, options),
    /** Submits and waits until the images are there. Throws `TaskFailedError`. */
    generate: async (body: WithFiles<t.ImageRequest>, options?: GenerateOptions) =>
      this.finish(await this.images.create(body, options), options),
  };

  readonly videos = {
    create: <Model extends string>(body: VideoBody<Model>, options?: SubmitOptions) => this.submit("/v1/videos/generations", body, options),
    generate: async <Model extends string>(body: VideoBody<Model>, options?: GenerateOptions) =>
      this.finish(await this.videos.create(body, options), options),
    /** Submits a remix of the video of an earlier task. */
    createRemix: <Model extends string>(videoId: string, body: RemixBody<Model>, options?: SubmitOptions) =>
      this.submit(`/v1/videos/${part(videoId)}/remix`, body, options),
    /** Remixes the video of an earlier task, and waits. */
    remix: async <Model extends string>(videoId: string, body: RemixBody<Model>, options?: GenerateOptions) =>
      this.finish(await this.videos.createRemix(videoId, body, options), options),
  };

  readonly characters = {
    create: (body: WithFiles<t.CharacterRequest>, options?: SubmitOptions) => this.submit("/v1/videos/generations", body, options),
    generate: async (body: WithFiles<t.CharacterRequest>, options?: GenerateOptions) =>
      this.finish(await this.characters.create(body, options), options),
    list: (query?: Query<t.ListCharactersData>, options?: RequestOptions) => this.list<t.SavedCharacter>("/v1/characters", query, options),
    delete: (id: string, options?: RequestOptions) => this.http.json<void>("DELETE", `/v1/characters/${part(id)}`, options),
  };

  readonly tasks = {
    /** Submits to a model of any kind but text, such as one with its own `input`. */
    create: (body: WithFiles<t.TaskRequest>, options?: SubmitOptions) => this.submit("/v1/tasks", body, options),
    generate: async (body: WithFiles<t.TaskRequest>, options?: GenerateOptions) =>
      this.finish(await this.tasks.create(body, options), options),
    retrieve: async (id: string, options?: RequestOptions) =>
      (await this.http.json<t.TaskAnswer>("GET", `/v1/tasks/${part(id)}`, options)).data,
    list: (query?: Query<t.ListTasksData>, options?: RequestOptions) => this.list<t.Task>("/v1/tasks", query, options),
    /** Waits until the task is completed. Throws `TaskFailedError`. */
    wait: (id: string, options?: WaitOptions) => this.wait(id, options),
    /** The task, at every change until it is final. A cut stream is continued. */
    stream: (id: string, options?: RequestOptions) => this.follow(id, options),
    cancel: async (id: string, options?: RequestOptions) =>
      (await this.http.json<t.TaskAnswer>("POST", `/v1/tasks/${part(id)}/cancel`, options)).data,
    delete: (id: string, options?: RequestOptions) => this.http.json<void>("DELETE", `/v1/tasks/${part(id)}`, options),
    /** Delivers at once the files that have not arrived in the bucket, or all again. Returns the task, whose `delivery` tells how it goes. */
    deliver: async (id: string, options?: RequestOptions) =>
      (await this.http.json<t.TaskAnswer>("POST", `/v1/tasks/${part(id)}/delivery`, options)).data,
    receipt: (id: string, options?: RequestOptions) => this.http.json<t.ReceiptAnswer>("GET", `/v1/tasks/${part(id)}/receipt`, options),
    callback: (id: string, options?: RequestOptions) => this.http.json<t.TaskCallback>("GET", `/v1/tasks/${part(id)}/callback`, options),
    /**
     * The files of a completed task: images, a video with its thumbnail, a character's image, or whatever else. The bytes of all but the first
     * are requested when they are read; of files that are read whole or saved at once, four at a time. Links are valid for 24 hours.
     */
    download: (task: Pick<t.Task, "result">, options?: RequestOptions) =>
      Promise.all(urls(task).map((url, at) => this.open(at === 0 ? "GET" : "HEAD", url, options))),
  };

  readonly chat = {
    completions: { create: ((body: t.ChatRequest, options?: RequestOptions) => this.complete(body, options)) as CreateChat },
  };

  readonly estimates = {
    /** The price of a submission or chat, or the error that it would get. Nothing is made. */
    create: (body: t.EstimateRequest, options?: RequestOptions) => this.http.json<t.DryRun>("POST", "/v1/estimates", { ...options, body }),
  };

  readonly files = {
    /** Uploads a file: `await file(path)`, a `File`, or anything for `toFile`. `file_...` stands in place of a URL in every body. */
    upload: async (source: Parameters<typeof toFile>[0], { expiresIn, ...options }: RequestOptions & { expiresIn?: number } = {}) => {
      const body = source instanceof Blob ? source : await toFile(source);
      return this.http.json<t.StoredFile>("POST", "/v1/files", {
        ...options,
        body,
        query: { expires_in: expiresIn },
        headers: { "content-type": isForm(body) ? "application/octet-stream" : body.type, ...options.headers },
      });
    },
    list: (query?: Query<t.ListFilesData>, options?: RequestOptions) => this.list<t.StoredFile>("/v1/files", query, options),
    retrieve: (id: string, options?: RequestOptions) => this.http.json<t.StoredFile>("GET", `/v1/files/${part(id)}`, options),
    download: (id: string, options?: RequestOptions) => this.download(`${this.http.origin}/v1/files/${part(id)}/content`, options),
    delete: (id: string, options?: RequestOptions) => this.http.json<void>("DELETE", `/v1/files/${part(id)}`, options),
  };

  readonly batches = {
    /** Begins a batch of `requests`, or of an uploaded file of JSON lines (`input_file`). */
    create: (body: WithFiles<t.NewBatch>, options?: SubmitOptions) => this.submit<t.Batch>("/v1/batches", body, options),
    list: (query?: Query<t.ListBatchesData>, options?: RequestOptions) => this.list<t.Batch>("/v1/batches", query, options),
    retrieve: (id: string, options?: RequestOptions) => this.http.json<t.Batch>("GET", `/v1/batches/${part(id)}`, options),
    cancel: (id: string, options?: RequestOptions) => this.http.json<t.Batch>("POST", `/v1/batches/${part(id)}/cancel`, options),
    /** Delivers again the files of completed lines that have not arrived. Returns the batch, whose `deliveries` tells how it goes. */
    deliver: (id: string, options?: RequestOptions) => this.http.json<t.Batch>("POST", `/v1/batches/${part(id)}/delivery`, options),
    /** Waits until the batch has ended, whatever its status. */
    wait: async (id: string, { onProgress, ...options }: RequestOptions & { onProgress?: (batch: t.Batch) => void } = {}) => {
      for (;;) {
        const batch = await this.batches.retrieve(id, options);
        onProgress?.(batch);
        if (batch.ended_at) return batch;
        await sleep(3000, options.signal);
      }
    },
    /** The results that are there, in the order of the input, while they arrive. A cut answer is continued. */
    results: (id: string, options?: RequestOptions) => this.results(id, options),
  };

  readonly models = {
    list: async (options?: RequestOptions) => (await this.http.json<t.ModelList>("GET", "/v1/models", options)).data,
    retrieve: (name: string, options?: RequestOptions) => this.http.json<t.Model>("GET", `/v1/models/${part(name)}`, options),
  };

  /** The key and its limits, the balances, and what was used. */
  readonly account = {
    key: (options?: RequestOptions) => this.http.json<t.OwnKey>("GET", "/v1/key", options),
    keyBalance: (options?: RequestOptions) => this.http.json<t.Balance>("GET", "/v1/balance", options),
    balance: (options?: RequestOptions) => this.http.json<t.Balance>("GET", "/v1/user/balance", options),
    usage: async (query?: Omit<NonNullable<t.GetUsageData["query"]>, "format">, options?: RequestOptions) =>
      (await this.http.json<t.UsageList>("GET", "/v1/usage", { ...options, query })).data,
  };

  /** Client tokens, for code in browsers. */
  readonly tokens = {
    create: (body: t.NewClientToken, options?: RequestOptions) => this.http.json<t.ClientToken>("POST", "/v1/tokens", { ...options, body }),
  };

  readonly destinations = {
    list: async (options?: RequestOptions) => (await this.http.json<t.DestinationList>("GET", "/v1/destinations", options)).data,
    retrieve: (name: string, options?: RequestOptions) => this.http.json<t.Destination>("GET", `/v1/destinations/${part(name)}`, options),
    set: (name: string, body: t.DestinationChange, options?: RequestOptions) =>
      this.http.json<t.Destination>("PUT", `/v1/destinations/${part(name)}`, { ...options, body }),
    delete: (name: string, options?: RequestOptions) => this.http.json<void>("DELETE", `/v1/destinations/${part(name)}`, options),
    test: (name: string, options?: RequestOptions) =>
      this.http.json<t.DestinationTest>("POST", `/v1/destinations/${part(name)}/test`, options),
  };

  readonly webhook = {
    retrieve: (options?: RequestOptions) => this.http.json<t.Webhook>("GET", "/v1/webhook", options),
    set: (url: string | null, options?: RequestOptions) => this.http.json<t.Webhook>("PUT", "/v1/webhook", { ...options, body: { url } }),
    test: (options?: RequestOptions) => this.http.json<t.WebhookTest>("POST", "/v1/webhook/test", options),
    secret: (options?: RequestOptions) => this.http.json<t.WebhookSecret>("GET", "/v1/webhook_secret", options),
    /** A new secret; the one until now signs too for a day. Not repeated after a cut: a second rotation would end it. */
    rotateSecret: (options?: RequestOptions) => this.request<t.WebhookSecret>("POST", "/v1/webhook_secret", options),
    /** The ends of tasks in the last seven days. */
    events: (query?: Query<t.ListEventsData>, options?: RequestOptions) => this.list<t.EndEvent>("/v1/events", query, options),
  };

  /** Any other call: a path of the API with its method. */
  request<T>(method: string, path: string, options: RequestOptions & { query?: object; body?: object } = {}): Promise<T> {
    // Of the same key, so that a repeat is not another task.
    return this.http.json<T>(method, path, withKey(options));
  }

  /** A file by its link, or a path of this gateway. */
  download = (url: string, options?: RequestOptions): Promise<Download> => this.open("GET", url, options);

  private async open(method: "GET" | "HEAD", link: string, options: RequestOptions = {}): Promise<Download> {
    const url = new URL(link, this.http.origin).href;
    const resume = (from: number, etag: string | null) =>
      this.http.open("GET", url, {
        ...options,
        headers: { ...options.headers, range: `bytes=${from}-`, ...(etag && { "if-range": etag }) },
      });
    return new Download(url, await this.http.open(method, url, options), resume, this.lanes);
  }

  private async submit<T = t.Submission>(path: string, body: object, options: SubmitOptions = {}): Promise<T> {
    const { deliverTo, ...rest } = options;
    const sent = { ...((await this.uploaded(body, rest)) as object), ...(deliverTo && { deliver_to: deliverTo }) };
    return this.http.json<T>("POST", path, { ...withKey(rest), body: sent });
  }

  /** A copy of a body in which uploaded files have taken the place of blobs. */
  private async uploaded(value: unknown, options: RequestOptions): Promise<unknown> {
    if (value instanceof Blob) return (await this.files.upload(value, { signal: options.signal })).id;
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.uploaded(item, options)));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(async ([name, item]) => [name, await this.uploaded(item, options)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  private async finish({ id }: t.Submission, { deliverTo, ...options }: GenerateOptions = {}): Promise<t.Task> {
    let task = await this.wait(id, options);
    if (!deliverTo) return task;
    while (task.delivery?.status === "pending") {
      await sleep(2000, options.signal);
      task = await this.tasks.retrieve(id, options);
    }
    if (task.delivery?.status === "failed") throw new DeliveryFailedError(task);
    return task;
  }

  private async wait(id: string, { onProgress, ...options }: WaitOptions = {}): Promise<t.Task> {
    for (let last = -1; ;) {
      // Shorter than the time limit, which is for the whole answer.
      const { timeout = 60_000 } = { ...this.http.options, ...options };
      const query = { wait: onProgress || timeout < 60_000 ? 3 : 30 };
      const { data: task } = await this.http.json<t.TaskAnswer>("GET", `/v1/tasks/${part(id)}`, { ...options, query });
      if (task.progress > last) onProgress?.(task);
      last = task.progress;
      if (task.status === "completed") return task;
      if (task.status === "failed") throw new TaskFailedError(task);
    }
  }

  private async *follow(id: string, options: RequestOptions = {}): AsyncGenerator<t.Task, void, undefined> {
    let last: string | undefined;
    for (let empty = 0; ; empty++) {
      const headers = { ...options.headers, ...(last && { "last-event-id": last }) };
      const response = await this.http.open("GET", `/v1/tasks/${part(id)}/events`, { ...options, headers });
      // The final state was already sent.
      if (response.status === 204) return;
      const began = Date.now();
      try {
        for await (const event of events(response)) {
          last = event.id;
          empty = -1;
          const task = JSON.parse(event.data) as t.Task;
          yield task;
          if (task.status === "completed" || task.status === "failed") return;
        }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
      }
      // A state may last longer than a stream, but not every stream ends at once without one.
      if (Date.now() - began > 60_000) empty = -1;
      if (empty >= 4) throw new ConnectionError("The stream was cut.");
      await sleep(500 * 2 ** Math.max(empty, 0), options.signal);
    }
  }

  private async complete(body: t.ChatRequest, options: RequestOptions = {}): Promise<t.ChatCompletion | Stream<t.ChatCompletionChunk>> {
    const path = "/v1/chat/completions";
    if (!body.stream) return this.http.json<t.ChatCompletion>("POST", path, { ...options, body });
    const ended = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
    const response = await this.http.open("POST", path, { ...options, body, signal });
    return new Stream(response, chunks(response), () => ended.abort());
  }

  private async *results(id: string, options: RequestOptions = {}): AsyncGenerator<t.BatchResult, void, undefined> {
    // How often a line of each id was returned: two lines may have the same one, or none.
    const returned = new Map<string | null, number>();
    for (let cuts = 0; ; cuts++) {
      const seen = new Map<string | null, number>();
      try {
        for await (const line of lines(await this.http.open("GET", `/v1/batches/${part(id)}/results`, options))) {
          if (line === "") continue;
          const result = JSON.parse(line) as t.BatchResult;
          const { custom_id: own } = result;
          const count = (seen.get(own) ?? 0) + 1;
          seen.set(own, count);
          if (count <= (returned.get(own) ?? 0)) continue;
          returned.set(own, count);
          yield result;
        }
        return;
      } catch (error) {
        const isCut = error instanceof ConnectionError || error instanceof SyntaxError;
        if (!isCut || cuts === 3) throw error;
      }
    }
  }

  private list<T extends { id: string }>(path: string, query: object = {}, options: RequestOptions = {}): List<T> {
    return new List((after) => this.http.json<Page<T>>("GET", path, { ...options, query: { ...query, after } }));
  }
}

/** A chat with `stream: true` is a stream of chunks, any other one a whole answer. */
export interface CreateChat {
  (body: t.ChatRequest & { stream: true }, options?: RequestOptions): Promise<Stream<t.ChatCompletionChunk>>;
  (body: t.ChatRequest & { stream?: false }, options?: RequestOptions): Promise<t.ChatCompletion>;
}

async function* chunks(response: Response): AsyncGenerator<t.ChatCompletionChunk, void, undefined> {
  for await (const { data } of events(response)) {
    if (data === "[DONE]") return;
    if (data.startsWith('{"error"')) throw toError(500, response.headers, data);
    yield JSON.parse(data) as t.ChatCompletionChunk;
  }
  throw new ConnectionError("The stream was cut.");
}

const isForm = ({ type }: Blob) => type === "" || type.startsWith("multipart/");

function withKey({ idempotencyKey = crypto.randomUUID(), ...options }: SubmitOptions): RequestOptions {
  return { ...options, headers: { "idempotency-key": idempotencyKey, ...options.headers } };
}

function urls({ result }: Pick<t.Task, "result">): string[] {
  if (!result) throw new TypeError("The task is not completed.");
  const more = ((result as t.FileResult).files ?? []).flatMap(({ url }) => url);
  if ("images" in result) return [...result.images.flatMap(({ url }) => url), ...more];
  if ("videos" in result) return [...result.videos.flatMap(({ url, thumbnail }) => (thumbnail ? [...url, thumbnail] : url)), ...more];
  return "type" in result ? result.data.characters.map(({ profile_picture_url: url }) => url) : more;
}
