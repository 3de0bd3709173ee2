import { join } from "node:path";
import type { Clock, RunEvent, Tool, ToolResult } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import type { McpClient, McpCommand, McpTools } from "@ravi/tools-mcp";

/** A server of this folder, in a process of its own. */
export function server(name: "offers" | "raw", ...args: readonly string[]): McpCommand {
  const file = join(import.meta.dirname, "servers", `${name}.ts`);
  return { command: process.execPath, args: [file, ...args] };
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/** Calls a tool as an agent does. */
export function ask(
  { tools }: Pick<McpTools, "tools">,
  name: string,
  args: object = {},
  options: AskOptions = {},
): Promise<ToolResult> {
  return bareContext(options).tool(
    { id: "call", name, arguments: JSON.stringify(args) },
    toolIn(tools, name),
  );
}

/** What the model is told. */
export async function told(...args: Parameters<typeof ask>): Promise<ToolResult["content"]> {
  return (await ask(...args)).content;
}

export function toolIn(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name} among ${tools.map((each) => each.name).join(", ")}`);
  return tool;
}

/** A call that has reached the server, which says so with progress. */
export async function underWay(
  tools: Pick<McpTools, "tools">,
  name: string,
  options: Omit<AskOptions, "onEvent"> = {},
): Promise<{ readonly hanging: Promise<ToolResult> }> {
  const arrived = Promise.withResolvers<void>();
  const hanging = ask(tools, name, {}, { ...options, onEvent: () => arrived.resolve() });
  hanging.catch(() => undefined);
  await Promise.race([arrived.promise, hanging]);
  return { hanging };
}

export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const failure = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof Error) return failure;
  throw new Error("it did not fail");
}

export interface FakeClient extends McpClient {
  /** The calls that have reached the server. */
  readonly calls: string[];
  tools: readonly object[];
  /** As the server says that its list has changed. */
  announce(): void;
}

/** A connected client without a server. */
export function fakeClient(
  tools: readonly object[],
  answer: (name: string, args: object) => object | Promise<object> = () => ({ content: [] }),
): FakeClient {
  const transport: { onmessage?: (message: object) => void } = {};
  const client: FakeClient = {
    transport,
    calls: [],
    tools,
    announce: () => transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
    getServerCapabilities: () => ({ tools: {} }),
    getServerVersion: () => ({ name: "fake" }),
    getInstructions: () => undefined,
    listTools: async () => ({ tools: client.tools }),
    callTool: async ({ name, arguments: args }) => {
      client.calls.push(name);
      return answer(name, args);
    },
  };
  return client;
}

/** What a server says of a tool without parameters. */
export function defined(name: string, more: object = {}): object {
  return { name, description: `does ${name}`, inputSchema: { type: "object" }, ...more };
}

/** Whether a process of ours is still there. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
