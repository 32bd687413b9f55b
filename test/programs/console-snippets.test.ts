/** Runs the code snippets of the playground against a server that records their requests. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../../scripts/support/port.ts";
import { ImageFile } from "../../src/console/playground/image-file.ts";
import { openaiSnippet } from "../../src/console/playground/openai-snippet.ts";
import { type Language, shellQuoted, buildSnippets } from "../../src/console/playground/snippets.ts";

const run = promisify(execFile);
const has = (program: string) => run(program, ["--version"]).then(...([() => true, () => false] as const));
const commands: Record<Language, string[]> = {
  curl: ["sh", "-c"],
  javascript: [process.execPath, "--input-type=module", "-e"],
  python: ["python3", "-c"],
};
const isThere: Record<Language, boolean> = { curl: await has("curl"), javascript: true, python: await has("python3") };
const languages = (Object.keys(commands) as Language[]).filter((language) => isThere[language]);

const asked: { path: string; key: string | undefined; body: unknown }[] = [];
const hostile = `it's "quoted" \\ \\n \\' $HOME $(echo no) \`echo no\` %s !! {x}\n\nEOF\t\u0000\u2028 😀 한국어 </script>'''"""`;
const result = { images: [{ url: ["https://gateway.example/a.png"] }], id: "other" };

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const isJson = request.headers["content-type"]?.startsWith("application/json") ?? true;
  asked.push({ path: request.url!, key: request.headers.authorization, body: text === "" ? undefined : isJson ? JSON.parse(text) : text });
  const polls = asked.filter(({ path }) => path === request.url).length;
  const answers: Record<string, object> = {
    "/v1/images/generations": {
      id: "task_a-1",
      object: "generation.task",
      status: "queued",
      metadata: { prompt: `{"id":"no","status":"completed"}` },
    },
    "/v1/tasks/task_a-1?wait=30": {
      code: 200,
      data: { id: "task_a-1", status: polls === 1 ? "in_progress" : "completed", metadata: { prompt: `"status":"failed"` }, result },
    },
    "/v1/chat/completions": { choices: [{ message: { content: "Hello" } }] },
    "/openai/v1/chat/completions": { choices: [{ message: { content: "Hello" } }] },
    "/openai/v1/images/generations": { data: [{ url: "https://gateway.example/a.png" }] },
    "/openai/v1/images/edits": { data: [{ url: "https://gateway.example/a.png" }] },
    "/openai/v1/videos": { id: "task_v", status: "queued" },
    "/openai/v1/videos/task_v": { id: "task_v", status: "completed" },
    "/v1/refused": { error: { message: "The balance is insufficient." } },
  };
  if (request.url === "/openai/v1/videos/task_v/content") return void response.end("a video");
  response.writeHead(request.url === "/v1/refused" ? 402 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(answers[request.url!]));
}

const root = join(import.meta.dirname, "../..");
let base: string;
let folder: string;

beforeAll(async () => {
  base = `http://${await listen(server)}`;
  folder = await mkdtemp(join(tmpdir(), "snippets-"));
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

/** Runs a snippet with a key: its output, and all its requests. */
async function ran(language: Language, path: string, body: Record<string, unknown>, isChat = false) {
  asked.length = 0;
  const [command = "", ...options] = commands[language];
  const program = buildSnippets({ base, path, body, isChat })[language];
  const { stdout } = await run(command, [...options, program], {
    cwd: folder,
    timeout: 30_000,
    env: { PATH: process.env["PATH"], API_KEY: "sk-test" },
  });
  return { stdout, asked: [...asked] };
}

test.each(languages)("%s sends the typed values, waits and prints the result", async (language) => {
  const body = {
    model: "imgA-4",
    prompt: hostile,
    n: 2,
    metadata: { private: true, watermark: false, [hostile]: null },
    images: [],
    list: [0.5, [{}]],
  };
  const done = await ran(language, "/v1/images/generations", body);
  expect(done.asked).toEqual([
    { path: "/v1/images/generations", key: "Bearer sk-test", body },
    { path: "/v1/tasks/task_a-1?wait=30", key: "Bearer sk-test", body: undefined },
    { path: "/v1/tasks/task_a-1?wait=30", key: "Bearer sk-test", body: undefined },
  ]);
  const printed = JSON.parse(done.stdout);
  expect(language === "curl" ? printed.data.result : printed).toEqual(result);
});

test.each(languages)("%s reads images from files of any name and size", async (language) => {
  const name = `my "best" $(pic) 'ture'.png`;
  const bytes = new Uint8Array(300_000).map((_, at) => at * 7);
  await writeFile(join(folder, name), bytes);
  await writeFile(join(folder, "-b.webp"), bytes.subarray(0, 10));
  const body = (toImage: (file: string) => unknown) => ({
    prompt: hostile,
    images: [toImage(name), "https://pictures.example/1.png"],
    image_with_roles: [{ url: toImage("-b.webp"), role: "first_frame" }],
  });
  const done = await ran(
    language,
    "/v1/images/generations",
    body((file) => new ImageFile(file)),
  );
  const uri = (file: string) =>
    file === name ? `data:image/png;base64,${base64(bytes)}` : `data:image/webp;base64,${base64(bytes.subarray(0, 10))}`;
  expect(done.asked.at(0)?.body).toEqual(body(uri));
});

test.each(languages)("%s prints a chat's answer", async (language) => {
  const body = { model: "textA-1", messages: [{ role: "user", content: hostile }] };
  const done = await ran(language, "/v1/chat/completions", body, true);
  expect(done.asked.map((one) => one.body)).toEqual([body]);
  expect(done.stdout).toContain("Hello");
});

test.each(languages)("%s ends with the API's message if the request is refused", async (language) => {
  await expect(ran(language, "/v1/refused", { prompt: "x" })).rejects.toMatchObject({
    stderr: expect.stringContaining("The balance is insufficient."),
  });
  expect(asked.length).toBe(1);
});

test("a shell takes quoted text literally", async () => {
  const text = hostile.replaceAll("\u0000", "");
  expect((await run("sh", ["-c", `printf %s ${shellQuoted(text)}`])).stdout).toBe(text);
});

/** Runs a program with OpenAI's client; returns its output and its requests. Forms are kept as text. */
async function ranOpenAi(action: "chat" | "image" | "video", body: Record<string, unknown>) {
  asked.length = 0;
  const file = join(root, `node_modules/.openai-${randomUUID()}.mjs`);
  await writeFile(file, openaiSnippet({ base, action, body }));
  try {
    const { stdout } = await run(process.execPath, [file], { cwd: folder, timeout: 30_000, env: { ...process.env, API_KEY: "sk-test" } });
    return { stdout, asked: [...asked] };
  } finally {
    await rm(file);
  }
}

test("OpenAI's client sends the typed values and prints the answer", async () => {
  const chat = await ranOpenAi("chat", { model: "textA-1", messages: [{ role: "user", content: hostile }] });
  expect(chat.asked.map(({ path, key, body }) => [path, key, body])).toEqual([
    ["/openai/v1/chat/completions", "Bearer sk-test", { model: "textA-1", messages: [{ role: "user", content: hostile }] }],
  ]);
  expect(chat.stdout).toBe("Hello\n");

  const image = await ranOpenAi("image", { model: "imgA-4", prompt: hostile, n: 2, size: "16:9", quality: "hd" });
  expect(image.asked[0]).toMatchObject({
    path: "/openai/v1/images/generations",
    body: { model: "imgA-4", prompt: hostile, n: 2, size: "1792x1024", quality: "hd", response_format: "url" },
  });
  expect(image.stdout).toBe("https://gateway.example/a.png\n");
});

test("OpenAI's client sends an image from a file, and waits for a video and saves it", async () => {
  await writeFile(join(folder, "a 'dune'.png"), "bytes of a dune");
  const edit = await ranOpenAi("image", { model: "imgA-4", prompt: "x", images: [new ImageFile("a 'dune'.png")] });
  expect(edit.asked.map(({ path }) => path)).toEqual(["/openai/v1/images/edits"]);
  expect(edit.asked[0]?.body).toContain("bytes of a dune");

  const video = await ranOpenAi("video", { model: "vidA-2", prompt: hostile, duration: 10, size: "16:9", metadata: { style: "anime" } });
  expect(video.asked.map(({ path }) => path)).toEqual([
    "/openai/v1/videos",
    "/openai/v1/videos/task_v",
    "/openai/v1/videos/task_v/content",
  ]);
  expect(await readFile(join(folder, "task_v.mp4"), "utf8")).toBe("a video");
  expect(openaiSnippet({ base, action: "video", body: { model: "vidA-2", metadata: {} } })).toContain(
    "// Not part of OpenAI's API: metadata",
  );
});
