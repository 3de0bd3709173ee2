import type { ModelEvent, ToolCall } from "@ravi/kernel";
import { argumentText, field, stringOr, uniqueIds } from "@ravi/kernel/provider";
import { type OpaqueMetadata, toolCallMetadata } from "../request/provider-metadata.ts";

type ToolCallEvent = Extract<ModelEvent, { type: "toolCall" }>;

/** Collects the tool calls of an answer, streamed or whole. */
export interface ToolCallAssembly {
  /** Adds a part of the answer and returns the events to emit. Calls that the provider runs itself are ignored. */
  add(part: unknown): readonly ToolCallEvent[];
  calls(): readonly ToolCall[];
  /** How many calls have begun. */
  size(): number;
}

interface Draft {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  text: string;
  whole: boolean;
  /** The metadata that the provider needs back with the call. */
  opaque: OpaqueMetadata | undefined;
}

export interface CallSetup {
  readonly tag: string;
  /** The names of the agent's tools. */
  readonly toolNames: ReadonlySet<string>;
}

export function assembleToolCalls({ tag, toolNames }: CallSetup): ToolCallAssembly {
  const drafts: Draft[] = [];
  /** By the model's own id. */
  const open = new Map<string, Draft>();
  const ids = uniqueIds();

  const begin = (given: string, name: string): Draft => {
    const draft: Draft = {
      index: drafts.length,
      id: ids.give(given === "" ? `call_${drafts.length}` : given),
      name,
      text: "",
      whole: false,
      opaque: undefined,
    };
    drafts.push(draft);
    open.set(given, draft);
    return draft;
  };
  const grow = (draft: Draft, delta: string): ToolCallEvent[] => {
    if (delta === "") return [];
    draft.text += delta;
    return [{ type: "toolCall", index: draft.index, delta }];
  };
  const head = ({ index, id, name }: Draft): ToolCallEvent => ({
    type: "toolCall",
    index,
    id,
    name,
    delta: "",
  });

  const finish = (part: unknown): ToolCallEvent[] => {
    const given = stringOr(field(part, "toolCallId"), "");
    const known = open.get(given);
    const isNew = known === undefined || known.whole;
    const draft = isNew ? begin(given, stringOr(field(part, "toolName"), "")) : known;
    const input = argumentText(field(part, "input"));
    // The final input counts. If it differs from what was emitted, that cannot be corrected in the stream.
    const rest = input.startsWith(draft.text) ? grow(draft, input.slice(draft.text.length)) : [];
    draft.text = input;
    draft.whole = true;
    draft.opaque = toolCallMetadata(tag, field(part, "providerMetadata"));
    return isNew ? [head(draft), ...rest] : rest;
  };

  return {
    add(part) {
      if (field(part, "providerExecuted") === true) return [];
      const id = stringOr(field(part, "id"), "");
      switch (field(part, "type")) {
        case "tool-input-start": {
          const name = stringOr(field(part, "toolName"), "");
          // It may be a tool that the provider runs, which some providers say only when the input is complete.
          return toolNames.has(name) ? [head(begin(id, name))] : [];
        }
        case "tool-input-delta": {
          const draft = open.get(id);
          return draft === undefined ? [] : grow(draft, stringOr(field(part, "delta"), ""));
        }
        case "tool-call":
          return finish(part);
        default:
          return [];
      }
    },
    size: () => drafts.length,
    calls: () =>
      drafts.map(({ id, name, text, opaque }) => ({
        id,
        name,
        arguments: text,
        ...(opaque === undefined ? {} : { opaque }),
      })),
  };
}
