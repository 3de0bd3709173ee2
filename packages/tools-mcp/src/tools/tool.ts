import { type AbortSignalLike, defineTool, isRaviError, type Tool, ToolError } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";
import { failureOf, short, whyNot } from "../failure.ts";
import type { McpCallOptions, McpToolDefinition } from "../model.ts";
import type { ToolOptions } from "../options.ts";
import { problemOf, toldOf } from "../result/told.ts";
import { argumentsOf } from "../schema/input.ts";
import type { Link } from "./link.ts";
import type { Offer } from "./offer.ts";

export interface ToolParts {
  /** The name that the model is told. */
  readonly toolName: string;
  readonly definition: McpToolDefinition;
  readonly options: ToolOptions;
  readonly link: Link;
  readonly offer: Offer;
  /** As errors name the server. */
  readonly server: string;
}

/** A tool of a server as a tool of an agent. */
export function toolOf({ toolName, definition, options, link, offer, server }: ToolParts): Tool {
  const { name, annotations, inputSchema } = definition;
  const { needsApproval, timeoutS, maxResultChars, maxMediaBytes } = options;
  const isIdempotent = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  // Asked for each time: a token may have come since.
  const clean = (text: string): string => link.cleaning.inResults(text);
  const reading = { clean, maxResultChars, maxMediaBytes };
  // With an output schema in it, the client would make a validator of it, by default one that compiles code.
  const toolDefinition = { name, inputSchema: { ...inputSchema, type: "object" as const } };

  const call = async (
    args: Record<string, unknown>,
    signal: AbortSignalLike,
    onprogress: Heard,
  ): Promise<object> => {
    const client = await link.connected(signal);
    let isSent = false;
    try {
      await offer.check(toolName, name, client, signal);
      const asked = { signal, onprogress, toolDefinition, timeout: timeoutS * 1_000 };
      isSent = true;
      return await client.callTool({ name, arguments: args }, asked);
    } catch (error) {
      link.noteFailure(error, client);
      if (isSent || isRaviError(error)) throw error;
      const why = whyNot(error, link.lost, offer.timeoutS, link.cleaning.inErrors);
      const message = `${toolName} was not called: ${server} did not list its tools again: ${why}`;
      throw new ToolError({ toolName, message, retryable: isIdempotent });
    }
  };

  return defineTool({
    name: toolName,
    description: definition.description ?? definition.title ?? annotations?.title ?? "",
    input: argumentsOf(inputSchema),
    idempotent: isIdempotent,
    needsApproval: typeof needsApproval === "function" ? needsApproval(definition) : needsApproval,
    timeoutS,
    async execute(args, { signal, progress }) {
      const heard: Heard = (data) => {
        if (signal.aborted) return;
        progress?.(name, progressData(data, clean));
      };
      let result: object;
      try {
        result = await abortable(call(args, signal, heard), signal);
      } catch (error) {
        const { lost, cleaning } = link;
        const about = { toolName, server, timeoutS, isIdempotent, lost };
        throw failureOf(error, signal, { ...about, clean: cleaning.inErrors });
      }
      if (Reflect.get(result, "isError") === true)
        throw new ToolError({ toolName, message: problemOf(result, reading) });
      return toldOf(result, reading);
    },
  });
}

type Heard = McpCallOptions["onprogress"];

function progressData(
  { progress, total, message }: Parameters<Heard>[0],
  clean: (text: string) => string,
): { readonly done: number; readonly of: number | null; readonly message?: string } {
  const said = message === undefined ? {} : { message: short(message, clean) };
  return { done: progress, of: total ?? null, ...said };
}
