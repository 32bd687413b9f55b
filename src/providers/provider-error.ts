/** The kinds of faults of a call to an upstream. A returned value is the upstream's verdict; an error never is. */

interface Properties {
  /** The same call may succeed later. */
  retryable: boolean;
  /** The upstream certainly accepted nothing: it refused, or was not reached. */
  nothingAccepted: boolean;
  /** The operator's credentials or money failed at this provider: every request would fail. */
  account: boolean;
  /** The content of a chat was refused: another route would refuse it too. */
  contentPolicy: boolean;
}

const none: Properties = { retryable: false, nothingAccepted: false, account: false, contentPolicy: false };

/** The properties of each kind of fault. */
const kinds = {
  /** No answer, or a server error: the upstream may have accepted the work, and may answer later. */
  unreachable: { ...none, retryable: true },
  /** The upstream accepts no requests at the moment (429, 503), or an input cannot be read at the moment. */
  busy: { ...none, retryable: true, nothingAccepted: true },
  /** The upstream refused this request permanently. */
  refused: { ...none, nothingAccepted: true },
  /** The upstream does not have the model, or not for this account: it is retired, misspelt or not opened. */
  model: { ...none, nothingAccepted: true },
  /** An answer that cannot be interpreted: the upstream may have accepted the work, and repeating the request does not help. */
  unclear: none,
  /** Credentials or money failed before anything was accepted. */
  account: { ...none, nothingAccepted: true, account: true },
  /** Credentials or money failed after the work was accepted: it waits for the operator to correct them. */
  accountLater: { ...none, retryable: true, account: true },
  /** Credentials or money failed while the outcome of an earlier attempt is unknown: repeating the request does not help. */
  accountUnclear: { ...none, account: true },
  /** The upstream refused a chat because of its content. */
  content: { ...none, nothingAccepted: true, contentPolicy: true },
} satisfies Record<string, Properties>;

export type ProviderErrorKind = keyof typeof kinds;

/** Why an upstream refused a field of a chat. The caller gets a message of our own for it (`src/messages/`). */
export type FieldReason =
  | "bad_schema"
  | "field_not_supported"
  | "value_not_supported"
  | "longer_than_accepted"
  | "value_out_of_range"
  | "not_of_this_type"
  | "required";

/** The upstream refused a chat as malformed: the caller's mistake, or a feature that this model does not support. */
export interface Malformed {
  code: "invalid_request" | "context_length_exceeded";
  /** The field that the upstream names, dotted and indexed. */
  param?: string;
  /** Why the upstream refused that field; absent if its code does not say. */
  reason?: FieldReason | undefined;
  /** True if other models with the same format may accept the field. */
  onlyHere: boolean;
}

interface Options {
  retryAfterMs?: number | undefined;
  malformed?: Malformed | undefined;
  cause?: unknown;
}

/** The upstream gave no verdict. The message goes to the log and never contains the upstream's own text. */
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
  /** The operator can correct it: the account at this provider, or the model of a route. Until then every such request fails. */
  get waitsForOperator(): boolean {
    return this.account || this.kind === "model";
  }
  get contentPolicy(): boolean {
    return kinds[this.kind].contentPolicy;
  }
}
