/** What can go wrong with a call to an upstream, by kind. A returned value is a verdict, a throw never is. */

interface Properties {
  /** The same call may succeed later. */
  retryable: boolean;
  /** The upstream certainly took nothing: it refused before accepting, or was not reached. */
  nothingAccepted: boolean;
  /** The operator's credentials or money failed there: every request would fail. */
  account: boolean;
  /** The content of a chat was refused: another route would not help. */
  contentPolicy: boolean;
}

const none: Properties = { retryable: false, nothingAccepted: false, account: false, contentPolicy: false };

/** Each kind of fault, and what follows from it. */
const kinds = {
  /** No answer, or a server error: the upstream may have accepted the work, and may answer later. */
  unreachable: { ...none, retryable: true },
  /** The upstream takes nothing right now (429, 503), or an input cannot be read right now. */
  busy: { ...none, retryable: true, nothingAccepted: true },
  /** The upstream refused this request for a reason that stays. */
  refused: { ...none, nothingAccepted: true },
  /** An answer without a meaning: the upstream may have accepted the work, and asking again does not help. */
  unclear: none,
  /** Credentials or money failed before anything was accepted. */
  account: { ...none, nothingAccepted: true, account: true },
  /** Credentials or money failed after the work was accepted: it waits for the operator to mend them. */
  accountLater: { ...none, retryable: true, account: true },
  /** Credentials or money failed while the outcome of an earlier attempt is unknown: asking again does not help. */
  accountUnclear: { ...none, account: true },
  /** A chat was refused for its content. */
  content: { ...none, nothingAccepted: true, contentPolicy: true },
} satisfies Record<string, Properties>;

export type ProviderErrorKind = keyof typeof kinds;

/** An upstream refused a chat as malformed: the caller's mistake, or what this model cannot do. */
export interface Malformed {
  code: "invalid_request" | "context_length_exceeded";
  /** The field that it names, dotted and indexed. */
  param?: string;
  /** Other models of the same format may take the field. */
  onlyHere: boolean;
}

interface Options {
  retryAfterMs?: number | undefined;
  malformed?: Malformed | undefined;
  cause?: unknown;
}

/** "Could not ask": the upstream gave no verdict. The message goes to the log: it never holds an upstream's own words. */
export class ProviderError extends Error implements Properties {
  override readonly name = "ProviderError";
  readonly kind: ProviderErrorKind;
  readonly retryAfterMs: number | undefined;
  readonly malformed: Malformed | undefined;

  constructor(kind: ProviderErrorKind, message: string, options: Options = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.malformed = options.malformed;
  }

  get retryable(): boolean {
    return kinds[this.kind].retryable;
  }
  get nothingAccepted(): boolean {
    return kinds[this.kind].nothingAccepted;
  }
  get account(): boolean {
    return kinds[this.kind].account;
  }
  get contentPolicy(): boolean {
    return kinds[this.kind].contentPolicy;
  }
}
