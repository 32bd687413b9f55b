/** Valid bodies are accepted, and one mutation of a valid body is refused with the right `param`. */

import "../support/alone.ts";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Action } from "../../src/catalog/models.ts";
import { readBalance, call, holdTime, newAccount } from "../support/gateway.ts";
import { expectDocumented, readVideo, within1s } from "./answers.ts";
import { validBodies } from "./arbitraries.ts";
import { buildMutation } from "./mutations.ts";

holdTime();

const toPath: Record<Exclude<Action, "file">, string> = {
  chat: "/v1/chat/completions",
  image: "/v1/images/generations",
  video: "/v1/videos/generations",
  character: "/v1/videos/generations",
  remix: "/v1/videos/{video}/remix",
};
const actions: Exclude<Action, "file">[] = ["chat", "image", "video", "character", "remix"];

for (const action of actions) {
  test(`${action}: valid bodies are accepted`, async () => {
    const account = await newAccount(null);
    const video = action === "character" || action === "remix" ? await readVideo(account) : "";
    const path = toPath[action].replace("{video}", video);
    await fc.assert(
      fc.asyncProperty(validBodies(action, video), async ({ body }) => {
        const answer = await within1s(() => call(path, { key: account.key, body }));
        expectDocumented(path, answer);
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        if (action !== "chat") expect(answer.body).toMatchObject({ object: "generation.task", metadata: { kind: action } });
        // Cancelled at once, so that nothing keeps running in the background.
        if (action !== "chat") expect((await call(`/v1/tasks/${answer.body.id}/cancel`, { key: account.key, body: {} })).status).toBe(200);
      }),
      { numRuns: 100 },
    );
  }, 30_000);

  test(`${action}: one mutation of a valid body is refused with its param, and leaves no trace`, async () => {
    const account = await newAccount(null);
    const video = action === "character" || action === "remix" ? await readVideo(account) : "";
    const path = toPath[action].replace("{video}", video);
    const before = await readBalance(account);
    await fc.assert(
      fc.asyncProperty(buildMutation(validBodies(action, video)), async ({ body, param }) => {
        const answer = await within1s(() => call(path, { key: account.key, body }));
        expectDocumented(path, answer);
        expect(answer.status, JSON.stringify(answer.body)).toBe(400);
        expect([...new Set((answer.body.error.details as { param: string }[]).map((detail) => detail.param))]).toEqual([param]);
      }),
      { numRuns: 200 },
    );
    expect(await readBalance(account)).toEqual(before);
  });
}
