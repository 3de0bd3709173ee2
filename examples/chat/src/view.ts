import type { SessionEvent } from "@ravi/session";
import { createColors } from "picocolors";

export interface View {
  /** A line of the program itself. */
  note(text: string): void;
  show(event: SessionEvent): void;
}

/** Writes what happens. Without colours if the output is no terminal or NO_COLOR is set. */
export function viewOn(output: NodeJS.WritableStream, isColored: boolean): View {
  const { dim, yellow, cyan } = createColors(isColored);
  let isMidLine = false;
  const line = (text: string): void => {
    output.write(`${isMidLine ? "\n" : ""}${text}\n`);
    isMidLine = false;
  };
  return {
    note: (text) => line(dim(plain(text))),
    show(event) {
      switch (event.type) {
        case "text":
          output.write(plain(event.delta));
          isMidLine = !event.delta.endsWith("\n");
          return;
        case "toolCall":
          return line(cyan(plain(`[${event.call.name} ${event.call.arguments}]`)));
        case "retry_start":
          return line(yellow(`[${event.kind}: trying again in ${(event.delayMs / 1000).toFixed(1)} s]`));
        case "session_compact":
          return line(dim(`[compacted: about ${event.before} tokens before, ${event.after} now]`));
        // A turn that was steered has several messages.
        case "message_end":
        case "agent_end":
          if (isMidLine) output.write("\n");
          isMidLine = false;
          return;
        default:
      }
    },
  };
}

/** Removes control characters: text of a model must not move the cursor or hide what it does. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is to be taken out
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
