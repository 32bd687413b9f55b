/** The parts of `oidc-provider` that tests use; the package has no types. */

declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Settings {
    clients: object[];
    jwks: { keys: object[] };
    cookies: { keys: string[] };
    claims: Record<string, string[]>;
    conformIdTokenClaims: boolean;
    pkce: { required: () => boolean };
    features: Record<string, { enabled: boolean }>;
    interactions: { url: (context: unknown, interaction: { uid: string }) => string };
    findAccount: (context: unknown, sub: string) => { accountId: string; claims: () => object };
  }

  export class Provider {
    constructor(issuer: string, settings: Settings);
    readonly Grant: new (of: { accountId: string; clientId: string }) => { addOIDCScope(scopes: string): void; save(): Promise<string> };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object, options: object): Promise<void>;
  }
}
