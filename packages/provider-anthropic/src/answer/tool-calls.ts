import type { ModelEvent, ToolCall } from "@ravi/kernel";
import { uniqueIds } from "@ravi/kernel/provider";

type CallEvent = Extract<ModelEvent, { type: "toolCall" }>;

/** One call while it is streamed. */
export interface CallDraft {
  /** Adds a piece of its arguments. */
  add(text: string): CallEvent | undefined;
  /** The call is complete. Arguments that came with its start are used if no piece followed. */
  close(): CallEvent | undefined;
}

export interface CallList {
  begin(head: { readonly id: string | undefined; readonly name: string; readonly input: string }): CallDraft;
  /** The events of the calls that began since the last time. */
  opened(): readonly CallEvent[];
  hasOpen(): boolean;
  /** In the order in which they began, each with a unique id. */
  calls(): readonly ToolCall[];
}

export function callList(): CallList {
  const calls: { readonly id: string; readonly name: string; readonly pieces: string[] }[] = [];
  // Servers other than Anthropic's may repeat ids. Each result must still find its call.
  const ids = uniqueIds();
  let heads: CallEvent[] = [];
  let open = 0;

  return {
    begin({ id: given, name, input }) {
      const index = calls.length;
      const id = ids.give(given ?? `toolu_${index}`);
      const pieces: string[] = [];
      calls.push({ id, name, pieces });
      heads.push({ type: "toolCall", index, id, name, delta: "" });
      open++;
      let isOpen = true;
      const add = (text: string): CallEvent | undefined => {
        if (text === "") return undefined;
        pieces.push(text);
        return { type: "toolCall", index, delta: text };
      };
      return {
        add,
        close() {
          if (!isOpen) return undefined;
          isOpen = false;
          open--;
          return pieces.length === 0 ? add(input) : undefined;
        },
      };
    },
    opened() {
      const events = heads;
      heads = [];
      return events;
    },
    hasOpen: () => open > 0,
    calls: () => calls.map(({ id, name, pieces }) => ({ id, name, arguments: pieces.join("") })),
  };
}
