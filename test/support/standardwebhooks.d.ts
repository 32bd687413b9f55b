/** The types of `standardwebhooks` as far as tests use them: its own would bring the types of Node into the Workers' program. */

export declare class Webhook {
  constructor(secret: string);
  /** The parsed body; throws when no signature of the headers is that of the secret. */
  verify(payload: string, headers: Record<string, string>): unknown;
}
