import type { RunEvent } from "@ravi/kernel";
import { describeCall } from "./board.ts";
import { inOneLine } from "./printable.ts";

const LONGEST = 100;

/** An event as one line for a log; undefined for events that are not worth a line. */
export function plainLine({ agentId, event }: RunEvent): string | undefined {
  const line = (text: string): string => `${agentId.padEnd(16)} ${shorten(text)}`;
  switch (event.type) {
    case "started":
      return line("starts");
    case "toolCall":
      return line(describeCall(event.call.name, event.call.arguments));
    case "budgetWarning":
      return line(`has used ${event.used} of ${event.limit} ${event.dimension}`);
    case "completed":
      return line(
        event.result.status === "completed" ? "is done" : `stops early: ${event.result.stopReason}`,
      );
    case "error":
      return line(event.error.message);
    default:
      return undefined;
  }
}

function shorten(text: string): string {
  const flat = inOneLine(text);
  return flat.length <= LONGEST ? flat : `${flat.slice(0, LONGEST - 1)}…`;
}
