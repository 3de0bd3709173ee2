import type { JsonObject } from "@ravi/kernel";
import { UnusableAnswer } from "@ravi/kernel/provider";
import type { Draft } from "./drafts.ts";
import { PARAGRAPH } from "./output.ts";

/**
 * An item that the server never closed, as far as it came. Throws if the response claims to be complete but a call's arguments are
 * not: such a call must not be run.
 */
export function unclosed(draft: Draft, status: string): JsonObject | undefined {
  switch (draft.type) {
    case "message":
      return {
        type: "message",
        content: [
          draft.refused
            ? { type: "refusal", refusal: textOf(draft, "") }
            : { type: "output_text", text: textOf(draft, "") },
        ],
      };
    case "reasoning":
      return { type: "reasoning", summary: [{ type: "summary_text", text: textOf(draft, PARAGRAPH) }] };
    case "function_call": {
      if (!draft.hasAllArguments && status === "completed")
        throw new UnusableAnswer("the answer ended in the middle of a tool call");
      return {
        type: "function_call",
        call_id: draft.callId ?? "",
        name: draft.name ?? "",
        arguments:
          draft.hasAllArguments || draft.announcedId === undefined ? draft.heldArguments : draft.emitted,
        status: draft.hasAllArguments ? "completed" : "incomplete",
      };
    }
    default:
      return undefined;
  }
}

function textOf({ parts }: Draft, between: string): string {
  return [...parts.values()].join(between);
}
