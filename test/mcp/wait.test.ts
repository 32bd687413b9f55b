/** Waiting at /mcp: progress meanwhile, the result when the task ends, and the task if it takes longer. */

import { expect, test, vi } from "vitest";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { type Account, call, deliver, finish, holdTime, newAccount, pass, script, unique, shortenPauses } from "../support/gateway.ts";
import { callTool, connect, type Era } from "./client.ts";

holdTime();
shortenPauses();

/** The account's only task, as soon as it exists. */
const onlyTask = async ({ key }: Account) =>
  vi.waitFor(async () => {
    const { body } = await call("/v1/tasks", { key });
    expect(body.data).toHaveLength(1);
    return body.data[0].id as string;
  });

test.each<Era>(["legacy", "modern"])("reported progress increases until the result is ready (%s)", async (era) => {
  const account = await newAccount();
  const client = await connect(account.key, era);
  const prompt = unique();
  await script({ match: prompt, polls: [{ progress: 40 }] });
  const reports: { progress: number; message?: string | undefined }[] = [];
  const pending = client.callTool(
    { name: "generate_image", arguments: { model: "imgA-4", prompt } },
    { onprogress: (report) => void reports.push(report) },
  );
  const id = await onlyTask(account);
  await vi.waitFor(() => expect(reports).toMatchObject([{ progress: 0, total: 100, message: "image: queued, 0 %" }]));
  await deliver(id);
  await pass(id, 4);
  await vi.waitFor(() => expect(reports.at(-1)!.progress).toBeGreaterThanOrEqual(40), { timeout: 10_000 });
  await finish(account, id);
  const result = await pending;
  expect(result).toMatchObject({ structuredContent: { task_id: id, status: "completed" } });
  const numbers = reports.map(({ progress }) => progress);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
});

test("a call whose wait ends before the task gets the task, and continues waiting with its id", async () => {
  const account = await newAccount();
  const client = await connect(account.key);
  const pending = callTool(client, "generate_image", { model: "imgA-4", prompt: unique(), wait: 1 });
  const id = await onlyTask(account);
  await pass(id, 1);
  const submitted = await pending;
  expect(submitted.record.status).toBe("queued");
  expect(submitted.text).toContain(`Call wait_for_task with task_id "${id}"; do not submit it again.`);
  const waiting = callTool(client, "wait_for_task", { task_id: id });
  await finish(account, id);
  expect((await waiting).record).toMatchObject({ status: "completed", task_id: id });
});

test.each([
  ["invalid_input", "Use another image or video."],
  ["provider_error", "Call again to try once more."],
])("if a task fails during the wait (%s), the result is an error with the next step", async (failed, step) => {
  const account = await newAccount();
  const client = await connect(account.key);
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed }] });
  const pending = callTool(client, "generate_image", { model: "imgA-4", prompt });
  const id = await onlyTask(account);
  await finish(account, id);
  const result = await pending;
  expect(result).toMatchObject({ isError: true, record: { status: "failed", cost: { charged: 0 } } });
  const text = result.text.split("\n")[0]!;
  expect(text).toMatch(new RegExp(`^The task failed \\(${failed}\\): `));
  expect(text.split("Nothing was charged.")).toHaveLength(2);
  expect(text).toContain(` Nothing was charged. ${step}`);
});

test("a call that is refused while it waits names the task that it has submitted", async () => {
  const account = await newAccount();
  const client = await connect(account.key);
  const status = vi.spyOn(TaskObject.prototype, "status").mockRejectedValue(new Error("scripted fault"));
  const result = await callTool(client, "generate_image", { model: "imgA-4", prompt: unique() });
  status.mockRestore();
  const id = await onlyTask(account);
  expect(result.isError).toBe(true);
  expect(result.text).toContain(`The task is submitted. Call wait_for_task with task_id "${id}"; do not submit it again.`);
  expect(result.text).toContain("internal_error");
  expect((await callTool(client, "get_task", { task_id: id })).record.status).toBe("queued");
});
