/** The auth Worker: signing in, by better-auth. Only the console calls it. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { answerCalls } from "./calls.ts";
import type { AuthSettings, AuthWorker } from "./contract.ts";

export default class Auth extends WorkerEntrypoint<AuthEnv> implements AuthWorker {
  readonly #calls = answerCalls(this.env, (work) => this.ctx.waitUntil(work));

  async handle(settings: AuthSettings, request: Request) {
    return this.#calls.handle(settings, request);
  }

  async handleSignOn(settings: AuthSettings, request: Request) {
    return this.#calls.handleSignOn(settings, request);
  }

  async findSession(settings: AuthSettings, cookie: string) {
    return this.#calls.findSession(settings, cookie);
  }

  async listLogins(settings: AuthSettings, userId: string) {
    return this.#calls.listLogins(settings, userId);
  }

  async listSessions(settings: AuthSettings, userId: string) {
    return this.#calls.listSessions(settings, userId);
  }

  async listPasskeys(settings: AuthSettings, cookie: string) {
    return this.#calls.listPasskeys(settings, cookie);
  }

  async setPassword(settings: AuthSettings, cookie: string, newPassword: string) {
    return this.#calls.setPassword(settings, cookie, newPassword);
  }
}
