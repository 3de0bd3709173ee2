import type { SessionEvent } from "@ravi/session";
import { createColors } from "picocolors";

export interface View {
  /** A line of the program's own. */
  note(text: string): void;
  show(event: SessionEvent): void;
}

/** Writes what happens. Plain where nobody looks: no colours, no prompts. */
export function viewOn(output: NodeJS.WritableStream, isTerminal: boolean): View {
  const { dim, yellow, cyan } = createColors(isTerminal);
  let isMidLine = false;
  const line = (text: string): void => {
    output.write(`${isMidLine ? "\n" : ""}${text}\n`);
    isMidLine = false;
  };
  return {
    note: (text) => line(dim(text)),
    show(event) {
      switch (event.type) {
        case "text":
          output.write(event.delta);
          isMidLine = true;
          return;
        case "toolCall":
          return line(cyan(`[${event.call.name} ${event.call.arguments}]`));
        case "retry_start":
          return line(yellow(`[${event.kind}: trying again in ${(event.delayMs / 1000).toFixed(1)} s]`));
        case "session_compact":
          return line(dim(`[compacted: about ${event.before} tokens before, ${event.after} now]`));
        case "agent_end":
          if (isMidLine) output.write("\n");
          isMidLine = false;
          return;
        default:
      }
    },
  };
}
