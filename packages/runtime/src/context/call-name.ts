import type { ToolCall } from "@ravi/kernel";
import { argumentsText } from "@ravi/kernel/loop";
import { nameOfText } from "./digest.ts";

/**
 * A short name for a tool call: another for other arguments. Contains the model's own id of the call. Servers use ids such as `call_0` again
 * and again, but not for another call at the same place.
 */
export function nameOfCall({ tool, call }: NamedCall): string {
  return nameOfText(`${tool.name}\n${call.id}\n${argumentsText(call)}`);
}

interface NamedCall {
  readonly tool: { readonly name: string };
  readonly call: ToolCall;
}
