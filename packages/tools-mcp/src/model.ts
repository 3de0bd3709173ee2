import type { AbortSignalLike, JsonObject } from "@ravi/kernel";

/**
 * A connected `Client` of `@modelcontextprotocol/client`, reduced to what is used here, so that a client of another copy or a newer
 * version of that package fits too.
 */
export interface McpClient {
  /** Where messages come in. It is another object after each connection. */
  readonly transport?: object | undefined;
  getServerCapabilities(): { readonly tools?: object | undefined } | undefined;
  getServerVersion(): { readonly name: string } | undefined;
  getInstructions(): string | undefined;
  // Methods, not properties: their parameters are checked bivariantly, so that a client with more precise ones fits.
  listTools(
    params: undefined,
    options: { readonly timeout: number; readonly signal: AbortSignalLike; readonly cacheMode: "refresh" },
  ): Promise<{ readonly tools: readonly object[] }>;
  callTool(
    params: { readonly name: string; readonly arguments: Record<string, unknown> },
    options: McpCallOptions,
  ): Promise<object>;
}

export interface McpCallOptions {
  readonly signal: AbortSignalLike;
  readonly timeout: number;
  readonly onprogress: (progress: McpProgress) => void;
  readonly toolDefinition: { readonly name: string; readonly inputSchema: { readonly type: "object" } };
}

export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** What a server says about a tool, as plain JSON. */
export interface McpToolDefinition {
  /** The server's own name for it. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly annotations?: McpAnnotations | undefined;
}

/** What a server says about the effects of a tool. Nobody has checked it. */
export interface McpAnnotations {
  readonly title?: string | undefined;
  /** It changes nothing. */
  readonly readOnlyHint?: boolean | undefined;
  /** It may destroy something. The protocol's default for a tool that changes something: true. */
  readonly destructiveHint?: boolean | undefined;
  /** Calling it twice with the same arguments does no more than calling it once. */
  readonly idempotentHint?: boolean | undefined;
  /** It reaches things beyond the server's own. */
  readonly openWorldHint?: boolean | undefined;
  readonly [hint: string]: unknown;
}

/** What a server offers: plain JSON, to be kept in a file and approved by people. */
export interface McpManifest {
  readonly instructions?: string | undefined;
  /** Sorted by name. */
  readonly tools: readonly McpToolDefinition[];
}

/** How a tool differs from what was approved. */
export interface McpChange {
  /** The server's own name for it; null for the server's instructions. */
  readonly tool: string | null;
  /** The parts that differ, such as `description` and `inputSchema`; `["new"]` or `["removed"]` for a whole tool. */
  readonly changed: readonly string[];
}
