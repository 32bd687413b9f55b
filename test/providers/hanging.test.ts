/** A maker that accepts connections and never answers: what asks it gives up, and leaves no connection open. */

import { expect, test, vi } from "vitest";
import { call, deliver, finish, holdTime, passToPoll, readBalance, unique } from "../support/gateway.ts";
import { submitTo, type Routes } from "./support.ts";

holdTime();

const routes: Routes = { "vidD-02": [{ provider: "minimax", model: "MiniMax-Hailuo-02" }] };

/** Requests that get no answer, with the limit of thirty seconds at once. */
function hang() {
  const open = new Set<string>();
  const original = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) => original(run, ms === 30_000 ? 0 : ms)) as never);
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const name = `${open.size} ${new Request(input).url}`;
    open.add(name);
    return new Promise((_, reject) =>
      init?.signal?.addEventListener("abort", () => {
        open.delete(name);
        reject(new DOMException("aborted", "AbortError"));
      }),
    );
  });
  return open;
}

test("polls that hang end, so that the object has its six connections for everything else", async () => {
  const { account, body } = await submitTo(routes, "/v1/videos/generations", { model: "vidD-02", prompt: unique(), duration: 10 });
  await deliver(body.id);
  const open = hang();
  for (let polls = 0; polls < 3; polls++) await passToPoll(body.id);
  expect([...open]).toEqual([]);
  vi.restoreAllMocks();
  expect((await finish(account, body.id, 40)).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: 0 });
}, 60_000);

test("a cancellation that hangs ends", async () => {
  const h3: Routes = { "vidD-02": [{ provider: "minimax", model: "MiniMax-H3" }] };
  const { account, body } = await submitTo(h3, "/v1/videos/generations", {
    model: "vidD-02",
    prompt: `${unique()} [queued]`,
    duration: 10,
  });
  await deliver(body.id);
  const open = hang();
  expect((await call(`/v1/tasks/${body.id}/cancel`, { key: account.key, method: "POST" })).body.data.status).toBe("failed");
  await vi.waitFor(() => expect([...open]).toEqual([]));
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
}, 60_000);
