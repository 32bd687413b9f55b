/** Characters mentioned in a video prompt: 2.4 of the interface, section 1 of the contract. */

import { expect, test } from "vitest";
import { type Account, call, complete, holdTime, newAccount, unique } from "../../support/gateway.ts";
import { expectNothingPaid } from "../../support/refusal.ts";

holdTime();

const videos = "/v1/videos/generations";

const makeVideo = (account: Account, prompt: string, model = "vidA-2") => call(videos, { key: account.key, body: { model, prompt } });

const done = (account: Account, body: object) => complete(account, videos, { model: "vidA-2", ...body });

/** An account whose one character is amber.fox. */
async function withCharacter(): Promise<Account> {
  const account = await newAccount();
  const from_task = await done(account, { prompt: unique() });
  const task = await done(account, { from_task, timestamps: "0,2" });
  const { result } = (await call(`/v1/characters_tasks/${task}`, { key: account.key })).body;
  expect(result.data.characters[0].username).toBe("amber.fox");
  return account;
}

/** Each prompt mentions an unknown character and is refused, and none leaves a trace. */
async function refuses(prompts: string[], model?: string): Promise<void> {
  const account = await newAccount();
  for (const prompt of prompts) {
    const answer = await makeVideo(account, prompt, model);
    const error = { type: "invalid_request", code: "invalid_request", param: "prompt", details: [{ param: "prompt" }] };
    expect({ status: answer.status, ...answer.body }, prompt).toMatchObject({ status: 400, error });
  }
  await expectNothingPaid(account);
}

async function accepts(account: Account, prompts: string[], model?: string): Promise<void> {
  for (const prompt of prompts) {
    const answer = await makeVideo(account, prompt, model);
    expect(answer.status, JSON.stringify([prompt, answer.body])).toBe(200);
    expect(answer.body.metadata.prompt).toBe(prompt);
  }
}

for (const model of ["vidA-2", "vidA-2-pro", "vidB-3.1-fast", "vidB-3.1-quality", "vidC-1-0-pro-fast", "vidC-1-0-pro-quality", "vidD-02"])
  test(`${model}: an unknown character is refused`, () => refuses(["@nobody walks in"], model));

test("an unknown name is refused wherever it is in the prompt", () =>
  refuses(["@nobody", "then @nobody!", "(@nobody)", "a line\n@nobody.else.", "with @nobody, smiling", "“@nobody”"]));
test("@character is refused for an account without characters", () => refuses(["@character dances", "a dance of @character."]));
test("every unknown name is reported", async () => {
  const account = await newAccount();
  const { status, body } = await makeVideo(account, "@one meets @two, and @one leaves");
  expect(status).toBe(400);
  expect(body.error.details).toEqual([
    { param: "prompt", message: expect.stringContaining("@one") },
    { param: "prompt", message: expect.stringContaining("@two") },
  ]);
});
test("an unknown name is reported beside other violations", async () => {
  const account = await newAccount();
  const { body } = await call(videos, { key: account.key, body: { model: "vidA-2", prompt: "@nobody", duration: 11 } });
  expect(body.error.details.map(({ param }: { param: string }) => param).sort()).toEqual(["duration", "prompt"]);
});
test("e-mail-like text is not a mention", async () =>
  accepts(await newAccount(), ["write to a@b.c", "first.last+tag@mail.example.com calls", "x@character, y@nobody"]));
test("an @ without a name is not a mention", async () => accepts(await newAccount(), ["meet @ noon", "@", "@@ @!", "5 @ 3 €"]));

test("an existing character is accepted by its name and as @character", async () =>
  accepts(await withCharacter(), [
    "@amber.fox runs",
    "@character runs",
    "here is @amber.fox.",
    "(@amber.fox), @character!",
    "two of @amber.fox and @amber.fox",
  ]));
test("a part of its name, or its name with more characters, is another name", async () => {
  const account = await withCharacter();
  for (const prompt of ["@amber runs", "@amber.foxes run", "@fox runs", "@amber.fox and @nobody"])
    expect((await makeVideo(account, prompt)).status, prompt).toBe(400);
});
test("an existing character is accepted by every model", async () => {
  const account = await withCharacter();
  for (const model of ["vidA-2-pro", "vidB-3.1-fast", "vidC-1-0-pro-fast", "vidD-02"]) await accepts(account, ["@amber.fox runs"], model);
});
test("a character belongs to its account", async () => {
  await withCharacter();
  await refuses(["@amber.fox runs", "@character runs"]);
});
test("a deleted character is unknown", async () => {
  const account = await withCharacter();
  const { data } = (await call("/v1/characters", { key: account.key })).body;
  expect((await call(`/v1/characters/${data[0].id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  for (const prompt of ["@amber.fox runs", "@character runs"]) expect((await makeVideo(account, prompt)).status, prompt).toBe(400);
});
test("a remix follows the same rules", async () => {
  const account = await withCharacter();
  const source = await done(account, { prompt: unique() });
  const remix = (prompt: string) => call(`/v1/videos/${source}/remix`, { key: account.key, body: { model: "vidA-2", prompt } });
  expect((await remix("add @amber.fox and @character")).status).toBe(200);
  expect(await remix("add @nobody")).toMatchObject({ status: 400, body: { error: { param: "prompt" } } });
});
test("an image prompt mentions no characters", async () => {
  const account = await newAccount();
  const body = { model: "imgA-4", prompt: "@nobody and @character" };
  expect((await call("/v1/images/generations", { key: account.key, body })).status).toBe(200);
});

for (const prompt of ["让@nobody跳舞", "昨日@nobodyが来た", "나는@nobody를 본다"])
  test(`a name may follow a word without a space in languages written without spaces: ${prompt}`, () => refuses([prompt]));
