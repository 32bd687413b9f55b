/** The tasks extension at /mcp, with its official package: a generation is a task with the same id. */

import { exports } from "cloudflare:workers";
import { createTaskSessionFromClient, resultFromTaskOutcome, type TaskEnabledSession } from "@modelcontextprotocol/ext-tasks/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Account, readBalance, call, finish, holdTime, newAccount, script, unique } from "../support/gateway.ts";
import { address, connect } from "./client.ts";

holdTime();

let requests = 0;
const clientInfo = { name: "test-agent", version: "1.0.0" };

/** The envelope that a client of the extension sends with each request. */
const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

const headersFor = (method: string, name: string) => ({
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  "mcp-name": name,
});

/** A session of the extension over the official client. The extension's own requests are posted directly. */
async function connectTasks({ key }: Account): Promise<TaskEnabledSession> {
  const client = await connect(key, "modern");
  const session = createTaskSessionFromClient(client, {
    endpointId: "gateway",
    v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: {} },
    rawDispatch: async (request) => {
      const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
      const response = await exports.default.fetch(address, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...headersFor(method, params.name ?? params.taskId ?? ""),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: ++requests, method, params }),
      });
      return response.json();
    },
  });
  onTestFinished(() => session.close());
  return session;
}

const onlyTask = ({ key }: Account) =>
  vi.waitFor(async () => {
    const { body } = await call("/v1/tasks", { key });
    expect(body.data).toHaveLength(1);
    return body.data[0].id as string;
  });

test("a generating tool answers with a task, whose end has the tool's result", async () => {
  const account = await newAccount(1);
  const session = await connectTasks(account);
  const execution = await session.callTool("generate_image", { model: "imgA-4", prompt: unique() });
  const id = await onlyTask(account);
  const settled = execution.settle();
  await finish(account, id);
  const { outcome } = await settled;
  expect(resultFromTaskOutcome(outcome)).toMatchObject({
    structuredContent: { task_id: id, status: "completed", cost: { charged: 0.03 } },
    content: expect.arrayContaining([expect.objectContaining({ type: "resource_link" }), expect.objectContaining({ type: "image" })]),
  });
});

test("a failed task ends with an error result, a cancelled one as cancelled", async () => {
  const account = await newAccount(1);
  const session = await connectTasks(account);
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const failing = await session.callTool("generate_image", { model: "imgA-4", prompt });
  const failed = failing.settle();
  const id = await onlyTask(account);
  await finish(account, id);
  const error = { isError: true, structuredContent: { error: { code: "content_policy_violation" } } };
  expect(resultFromTaskOutcome((await failed).outcome)).toMatchObject(error);
  const cancelled = await session.callTool("generate_image", { model: "imgA-4", prompt: unique() });
  await cancelled.cancel();
  expect((await cancelled.settle()).outcome).toMatchObject({ status: "cancelled" });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
  // An ended task does not change.
  await session.cancelTask(id as never);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.error.code).toBe("content_policy_violation");
});

test.each(["tasks/get", "tasks/cancel", "tasks/update"])("%s of another account's task, or of no id, is an error", async (method) => {
  const account = await newAccount();
  for (const taskId of ["task_unknown", "."]) {
    const params = { taskId, _meta: envelope };
    const { body } = await call("/mcp", {
      key: account.key,
      body: { jsonrpc: "2.0", id: 1, method, params },
      headers: headersFor(method, taskId),
    });
    expect(body).toMatchObject({ id: 1, error: { code: -32_602, message: expect.stringContaining("task_not_found") } });
  }
});
