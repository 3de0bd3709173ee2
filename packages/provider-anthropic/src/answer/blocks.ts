import { type ContentPart, type ModelEvent, sameValue, type ToolCall } from "@ravi/kernel";
import { argumentText, type Fields, fieldsOf, textIn, tryParse } from "@ravi/kernel/provider";
import { opaquePart, placePart } from "../opaque.ts";
import { type CallDraft, callList } from "./tool-calls.ts";

/** Collects the content of an answer, block by block. */
export interface Blocks {
  start(index: unknown, block: unknown): readonly ModelEvent[];
  delta(index: unknown, delta: unknown): readonly ModelEvent[];
  stop(index: unknown): readonly ModelEvent[];
  /** Whether a call was begun and never closed. Such a call must not be run. */
  hasOpenCall(): boolean;
  /** Whether any block was begun. */
  isBegun(): boolean;
  parts(): readonly ContentPart[];
  calls(): readonly ToolCall[];
}

export interface BlockSetup {
  readonly provider: string;
  /** The tool that the model calls to give its answer. Its arguments are emitted as text. */
  readonly outputTool: string | undefined;
}

type Draft =
  /** `isHeld`: not told before it is whole, since it may only repeat another answer. */
  | { readonly kind: "text"; readonly pieces: string[]; readonly input: string; readonly isHeld: boolean }
  | { readonly kind: "call"; readonly call: CallDraft }
  /** Blocks that are kept unchanged: thinking, and the blocks of Anthropic's own tools. */
  | { readonly kind: "opaque"; readonly block: Record<string, unknown>; readonly input: string[] };

/**
 * The type of a block whose start was lost, by the type of its delta. A call without its start has no name, but its arguments must
 * not become text.
 */
const IMPLIED: ReadonlyMap<unknown, string> = new Map([
  ["thinking_delta", "thinking"],
  ["input_json_delta", "tool_use"],
]);

export function collectBlocks({ provider, outputTool }: BlockSetup): Blocks {
  const drafts: Draft[] = [];
  const byIndex = new Map<unknown, Draft>();
  const list = callList();
  /** The pieces of each call of the tool that gives the answer. */
  const answers: string[][] = [];

  const open = (index: unknown, draft: Draft): Draft => {
    drafts.push(draft);
    // If an index is used again, it means the newer block.
    byIndex.set(index, draft);
    return draft;
  };
  const begin = (index: unknown, block: Fields): Draft => {
    const { type, input } = block;
    if (type === "text") return open(index, { kind: "text", pieces: [], input: "", isHeld: false });
    if (type !== "tool_use") return open(index, { kind: "opaque", block: { ...block }, input: [] });
    const name = textIn(block["name"]) ?? "";
    const given = argumentText(input) || "{}";
    if (name === outputTool) {
      const answer: Draft = { kind: "text", pieces: [], input: given, isHeld: answers.length > 0 };
      answers.push(answer.pieces);
      return open(index, answer);
    }
    const call = list.begin({ id: textIn(block["id"]), name, input: given });
    return open(index, { kind: "call", call });
  };
  /** Finds the block of a delta. If the block was never started, its first delta tells the type. */
  const implied = (index: unknown, delta: Fields): Draft => {
    const known = byIndex.get(index) ?? (index === undefined ? drafts.at(-1) : undefined);
    if (known !== undefined) return known;
    return begin(index, { type: IMPLIED.get(delta["type"]) ?? "text" });
  };

  return {
    start(index, value) {
      const block = fieldsOf(value);
      const draft = begin(index, block);
      const events: ModelEvent[] = [...list.opened()];
      if (draft.kind === "text") events.push(...addText(draft.pieces, block["text"]));
      const thought = textIn(block["thinking"]);
      if (draft.kind === "opaque" && thought !== undefined)
        events.push({ type: "reasoning", delta: thought });
      return events;
    },
    delta(index, value) {
      const delta = fieldsOf(value);
      const draft = implied(index, delta);
      const piece = delta["partial_json"];
      switch (draft.kind) {
        case "text": {
          const events = addText(draft.pieces, delta["text"] ?? piece);
          return draft.isHeld ? [] : events;
        }
        case "call": {
          const event = typeof piece === "string" ? draft.call.add(piece) : undefined;
          return [...list.opened(), ...(event === undefined ? [] : [event])];
        }
        default:
          return addOpaque(draft, delta);
      }
    },
    stop(index) {
      const draft = byIndex.get(index) ?? (index === undefined ? drafts.at(-1) : undefined);
      byIndex.delete(index);
      if (draft?.kind === "text") {
        const { pieces, isHeld } = draft;
        const events = pieces.length === 0 ? addText(pieces, draft.input) : [];
        return isHeld ? releaseAnswer(pieces, answers) : events;
      }
      const event = draft?.kind === "call" ? draft.call.close() : undefined;
      return event === undefined ? [] : [event];
    },
    hasOpenCall: () => list.hasOpen(),
    isBegun: () => drafts.length > 0,
    parts: () => partsOf(drafts, provider),
    calls: () => list.calls(),
  };
}

/**
 * Models that may call several tools at once give their answer twice now and then. One that says the same is dropped, since two are no JSON
 * together. Of two that differ, both are told: which one is meant, only the model knows.
 */
function releaseAnswer(pieces: string[], answers: readonly (readonly string[])[]): readonly ModelEvent[] {
  const text = pieces.join("");
  const isRepeated = answers.some((other) => other !== pieces && isSameJson(other.join(""), text));
  if (isRepeated) pieces.length = 0;
  return isRepeated || text === "" ? [] : [{ type: "text", delta: text }];
}

function isSameJson(one: string, other: string): boolean {
  return one === other || sameValue(tryParse(one) ?? one, tryParse(other) ?? other);
}

function addText(pieces: string[], value: unknown): readonly ModelEvent[] {
  const text = textIn(value);
  if (text === undefined) return [];
  pieces.push(text);
  return [{ type: "text", delta: text }];
}

/** Pieces of text are appended to their field of the block; anything else replaces it. */
function addOpaque(draft: Extract<Draft, { kind: "opaque" }>, delta: Fields): readonly ModelEvent[] {
  const { type: _, partial_json: piece, ...fields } = delta;
  const { block } = draft;
  if (typeof piece === "string") draft.input.push(piece);
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    block[name] = typeof value === "string" ? (textIn(block[name]) ?? "") + value : value;
  }
  const thought = textIn(fields["thinking"]);
  return thought === undefined ? [] : [{ type: "reasoning", delta: thought }];
}

/** The parts of the content. With thoughts among them, it is kept which calls came before them: their order must not change. */
function partsOf(drafts: readonly Draft[], provider: string): ContentPart[] {
  const isOrdered = drafts.some(({ kind }) => kind === "opaque");
  const parts: ContentPart[] = [];
  let calls = 0;
  let placed = 0;
  for (const draft of drafts) {
    if (draft.kind === "call") {
      calls++;
      continue;
    }
    const part = partOf(draft, provider, calls);
    if (part === undefined) continue;
    if (isOrdered && draft.kind === "text" && calls > placed) parts.push(placePart(provider, calls));
    parts.push(part);
    placed = calls;
  }
  return parts;
}

function partOf(
  draft: Exclude<Draft, { kind: "call" }>,
  provider: string,
  calls: number,
): ContentPart | undefined {
  if (draft.kind === "text") {
    const text = draft.pieces.join("");
    return text === "" ? undefined : { type: "text", text };
  }
  const { block, input } = draft;
  if (input.length === 0) return opaquePart(block, provider, calls);
  return opaquePart({ ...block, input: tryParse(input.join("")) ?? {} }, provider, calls);
}
