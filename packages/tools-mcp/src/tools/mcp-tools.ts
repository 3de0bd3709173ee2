import type { Tool } from "@ravi/kernel";
import { checkPort, tellLog } from "@ravi/kernel/loop";
import type { McpChange, McpClient, McpManifest } from "../model.ts";
import { byToolName, shown } from "../names.ts";
import { type McpToolsOptions, type ToolOptions, toolOptions } from "../options.ts";
import { cleaning } from "../secrets.ts";
import { remember } from "./join-tools.ts";
import type { Link } from "./link.ts";
import { Offer } from "./offer.ts";
import { toolOf } from "./tool.ts";

/** The tools of a server. */
export interface McpTools {
  /** What errors call the server. */
  readonly name: string;
  /** For `agent({ tools })`. They stay as they are: what the server changes later is in `changes`. */
  readonly tools: readonly Tool[];
  /** How the server wants its tools to be used, as it was approved. Its words: put them into a prompt only if you trust it. */
  readonly instructions: string | undefined;
  /** What the server offers now, of what was chosen: plain JSON, to be looked at, kept, and given as `approved`. */
  readonly manifest: McpManifest;
  /** How `manifest` differs from what was approved. A tool that is named here is not called. */
  readonly changes: readonly McpChange[];
}

/**
 * The tools of a server, over a connection that stays yours. Throws an `InvalidValueError` if an option is wrong, if `include` or
 * `exclude` name a tool that the server does not have, or if two tools get the same name.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<McpTools> {
  checkPort("client", client, ["listTools", "callTool", "getServerCapabilities", "getInstructions"]);
  const checked = toolOptions("mcpTools options", options);
  const link: Link = {
    connected: () => Promise.resolve(client),
    lost: undefined,
    cleaning: cleaning(checked.secrets),
    noteFailure: () => {},
  };
  return toolsOver(link, client, checked, checked.timeoutS);
}

/** The tools over a link whose client is connected. */
export async function toolsOver(
  link: Link,
  client: McpClient,
  options: ToolOptions,
  listTimeoutS: number,
): Promise<McpTools> {
  const { prefix, include, exclude, approved } = options;
  const name = options.name ?? client.getServerVersion()?.name ?? "MCP server";
  const server = `the MCP server ${shown(name)}`;
  const tell = (text: string): void =>
    tellLog(options.logger, "warn", link.cleaning.inErrors(`${server}: ${text}`));
  const offer = await Offer.of(client, { include, exclude, approved, timeoutS: listTimeoutS, tell });
  const tools = Array.from(byToolName(offer.approved.tools, prefix), ([toolName, definition]) =>
    remember(toolOf({ toolName, definition, options, link, offer, server }), definition.name, name),
  );
  return Object.freeze({
    name,
    tools: Object.freeze(tools),
    instructions: offer.approved.instructions,
    get manifest() {
      return offer.current;
    },
    get changes() {
      return offer.changes;
    },
  });
}
