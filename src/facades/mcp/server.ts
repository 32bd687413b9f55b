/** One MCP server for one request: lists the tools, runs them, and implements the tasks extension. */

import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server, type Tool as ProtocolTool } from "@modelcontextprotocol/server";
import { assetSeconds } from "../../base/life-times.ts";
import { ApiRefusal } from "./errors.ts";
import { requireKnown } from "./arguments.ts";
import type { Caller, Context } from "./context.ts";
import { addTaskMethods, tasksExtension, wantsTask } from "./task-methods.ts";
import { tools } from "./tools.ts";

const instructions = `Generates images and videos. A generate tool submits a task and waits for it; when it returns before the end, call
wait_for_task with the task_id. Each task costs balance units: estimate returns the price beforehand, max_cost limits it, failed tasks cost
nothing. The same call with the same arguments is made and paid once; give variation another value to make it again. File links expire
after ${assetSeconds / 3_600} hours.`.replaceAll("\n", " ");

/** A server whose tools use the permissions of `caller`. */
export function createServer(caller: Caller): Server {
  const server = new Server(
    { name: "generation-gateway", title: "Generation gateway", version: "1.0.0" },
    { capabilities: { tools: {}, extensions: { [tasksExtension]: {} } }, instructions },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(tools).map(([name, { title, description, input, output, annotations }]) => ({
      name,
      title,
      description,
      inputSchema: {
        type: "object",
        ...input(caller.models),
        additionalProperties: tools[name]?.accepts !== undefined,
      } as ProtocolTool["inputSchema"],
      outputSchema: output,
      annotations: { title, ...annotations },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
    if (!tool)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}. There are ${Object.keys(tools).join(", ")}.`);
    const token = mcpReq._meta?.progressToken;
    const context: Context = {
      ...caller,
      tool: params.name,
      isCancelled: () => mcpReq.signal.aborted,
      asTask: wantsTask(mcpReq.envelope),
      ...(token !== undefined && {
        report: (progress, message) =>
          mcpReq.notify({ method: "notifications/progress", params: { progressToken: token, progress, total: 100, message } }),
      }),
    };
    const args = params.arguments ?? {};
    try {
      requireKnown(params.name, args, tool.accepts?.(args, caller.models) ?? Object.keys(tool.input(caller.models).properties));
      return await tool.run(args, context);
    } catch (error) {
      if (error instanceof ApiRefusal) return { content: [{ type: "text", text: error.message }], isError: true } satisfies CallToolResult;
      throw error;
    }
  });
  addTaskMethods(server, caller);
  return server;
}
