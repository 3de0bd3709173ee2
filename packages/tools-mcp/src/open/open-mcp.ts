import { type Clock, isRaviError, systemClock, ToolError } from "@ravi/kernel";
import { checkPort, withTimers } from "@ravi/kernel/loop";
import { whyNot } from "../failure.ts";
import { type McpToolsOptions, seconds, toolOptions } from "../options.ts";
import { type McpTools, toolsOver } from "../tools/mcp-tools.ts";
import { Connection } from "./connection.ts";
import { type McpAddress, type McpCommand, targetOf } from "./target.ts";

/** Options of `openMcp()`. All are optional. */
export interface OpenMcpOptions extends McpToolsOptions {
  /** Seconds to start the server and to hear from it. Default: 30. */
  readonly connectTimeoutS?: number | undefined;
  /** The clock of the limits on what a server sends, of its end, and of waits to open a stream again. Default: the real one. */
  readonly clock?: Clock | undefined;
}

/** A server that was opened. */
export interface McpServer extends McpTools {
  /** Ends the calls under way, the connection and, if it was started here, the server. Returns when nothing is left of it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a server, or connects to one, and lists its tools. Throws an `InvalidValueError` if an option is wrong, and a `ToolError` if the
 * server does not answer.
 */
export async function openMcp(
  server: McpCommand | McpAddress,
  options: OpenMcpOptions = {},
): Promise<McpServer> {
  const target = targetOf(server);
  const checked = toolOptions("openMcp options", options, ["connectTimeoutS", "clock"]);
  const connectTimeoutS = seconds("connectTimeoutS", options.connectTimeoutS ?? 30);
  if (options.clock !== undefined) checkPort("clock", options.clock, ["now"]);
  const clock = withTimers(options.clock ?? systemClock, globalThis);
  const { secrets } = checked;
  const name = checked.name ?? target.name;
  const connection = new Connection({ target, name, secrets, connectTimeoutS, clock });
  const close = (): Promise<void> => connection.close();
  try {
    const client = await connection.connected(undefined);
    const opened = await toolsOver(connection, client, checked, connectTimeoutS);
    // With its getters: what the server offers may change.
    const own = { close, [Symbol.asyncDispose]: close };
    return Object.freeze(Object.defineProperties(own, Object.getOwnPropertyDescriptors(opened)) as McpServer);
  } catch (error) {
    const { lost, cleaning } = connection;
    await close();
    if (isRaviError(error)) throw error;
    const why = whyNot(error, lost, connectTimeoutS, cleaning.inErrors);
    throw new ToolError({ toolName: name, message: `the MCP server ${name} did not list its tools: ${why}` });
  }
}
