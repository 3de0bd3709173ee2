import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/client";
import { isObject } from "@ravi/kernel/provider";

/**
 * A line as a message; null if it is none: many servers print other things. `broken` if it was meant as one and cannot be read: whoever
 * waits for it would wait in vain.
 */
export function readMessage(line: string): JSONRPCMessage | "broken" | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Objects that are printed for people begin with a space or a name.
    return line.startsWith('{"') ? "broken" : null;
  }
  if (!isObject(value) || value["jsonrpc"] === undefined) return null;
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return "broken";
  }
}
