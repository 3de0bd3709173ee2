import {
  type CallToolResult,
  type Client,
  fromJsonSchema,
  type JsonSchemaType,
  type Tool as McpTool,
} from "@modelcontextprotocol/client";
import { type Tool, tool, toolContent } from "@ravi/sdk";

/** The tools of a connected MCP server, for `agent({ tools })`. The connection stays yours: close it when its agents are done. */
export async function mcpTools(client: Client, prefix = ""): Promise<readonly Tool[]> {
  const { tools } = await client.listTools();
  return tools.map((each) => wrapped(client, each, prefix));
}

function wrapped(
  client: Client,
  { name, description, inputSchema, annotations }: McpTool,
  prefix: string,
): Tool {
  return tool({
    // A server may use characters in a name that model providers refuse.
    name: `${prefix}${name}`.replaceAll(/[^\w-]/g, "_").slice(0, 64),
    description: description ?? "",
    // Checks the arguments before anything is sent to the server.
    input: fromJsonSchema<Record<string, unknown>>(inputSchema as JsonSchemaType),
    // A call that was in flight at a crash is repeated without asking only if the server says that this does no harm.
    idempotent: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
    async execute(args, { signal, progress }) {
      const result = await client.callTool(
        { name, arguments: args },
        {
          signal,
          onprogress: ({ progress: done, total }) => progress?.(name, { done, of: total ?? null }),
          // The client gives up after a minute without a sign of life; a tool that reports progress may take longer.
          resetTimeoutOnProgress: true,
        },
      );
      if (result.isError === true) throw new Error(result.content.map(described).join("\n"));
      return told(result);
    },
  });
}

/** Pictures as such; else the data, if the server gives any, or the text. */
function told({ content, structuredContent }: CallToolResult): unknown {
  if (!content.some(({ type }) => type === "image"))
    return structuredContent ?? content.map(described).join("\n");
  return toolContent(
    content.map((part) =>
      part.type === "image"
        ? { type: "image", url: `data:${part.mimeType};base64,${part.data}`, mediaType: part.mimeType }
        : { type: "text", text: described(part) },
    ),
  );
}

function described(part: CallToolResult["content"][number]): string {
  if (part.type === "text") return part.text;
  if (part.type === "resource" && "text" in part.resource) return part.resource.text;
  if (part.type === "resource_link") return part.uri;
  return `[${part.type}]`;
}
