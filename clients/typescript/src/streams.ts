/** Answers that arrive in parts: server-sent events, lines of JSON, and lists of several pages. */

/** The lines of a body. Cancels the body when the reader stops early. */
export async function* lines({ body }: Response): AsyncGenerator<string, void, undefined> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const parts = rest.split(/\r\n|\n|\r(?!$)/);
      rest = done ? "" : (parts.pop() ?? "");
      yield* parts;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

export interface ServerEvent {
  event?: string;
  id?: string;
  data: string;
}

/** The events of a stream; those without data are left out. */
export async function* events(response: Response): AsyncGenerator<ServerEvent, void, undefined> {
  let fields: Record<string, string> = {};
  for await (const line of lines(response)) {
    if (line === "") {
      if (fields["data"] !== undefined) yield fields as unknown as ServerEvent;
      fields = {};
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    fields[name] = name === "data" && fields["data"] !== undefined ? `${fields["data"]}\n${value}` : value;
  }
}

/** A stream of values. Iterate it once; leaving the loop ends the request. */
export class Stream<T> implements AsyncIterable<T> {
  constructor(
    /** The answer's head: status and headers. */
    readonly response: Response,
    private readonly source: AsyncGenerator<T, void, undefined>,
    /** Ends the request. */
    readonly abort: () => void,
  ) {}
  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this.source;
  }
}

export interface Page<T> {
  data: T[];
  has_more?: boolean;
  next_after?: string;
}

/** A list: iterate it for every row of every page, or get one page. */
export class List<T extends { id: string }> implements AsyncIterable<T> {
  constructor(
    /** The first page, or the one after the row with this id. */
    readonly page: (after?: string) => Promise<Page<T>>,
  ) {}
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let after: string | undefined;
    for (;;) {
      const { data, has_more: hasMore, next_after: next } = await this.page(after);
      yield* data;
      after = next ?? data.at(-1)?.id;
      if (!hasMore || !after) return;
    }
  }
}
