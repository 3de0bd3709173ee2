/**
 * `openMcp` and `mcpTools`: the tools of MCP servers as tools of agents.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type {
  McpAnnotations,
  McpCallOptions,
  McpChange,
  McpClient,
  McpManifest,
  McpProgress,
  McpToolDefinition,
} from "./model.ts";
export type { McpToolsOptions } from "./options.ts";
export { type McpServer, openMcp, type OpenMcpOptions } from "./open/open-mcp.ts";
export type { McpAddress, McpCommand } from "./open/target.ts";
export { joinTools } from "./tools/join-tools.ts";
export { type McpTools, mcpTools } from "./tools/mcp-tools.ts";
