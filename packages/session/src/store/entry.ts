import type { ChatMessage, JsonValue, Usage } from "@ravi/kernel";

interface Base {
  readonly id: string;
  /** The id of the entry before it; null at the root. */
  readonly parent: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A message of the conversation. */
export interface MessageEntry extends Base {
  readonly kind: "message";
  readonly message: ChatMessage;
  /** Of the model call that produced it. */
  readonly usage?: Usage | undefined;
  /** The model that produced it. */
  readonly model?: string | undefined;
  /** The id of the entry with the turn's system prompt; only on a user's message. */
  readonly prompt?: string | undefined;
}

/**
 * Part of a compacted conversation: a new message, or the messages of all entries from `from` to `to`, inclusive, on the path
 * to the root.
 */
export type CompactionItem =
  | { readonly message: ChatMessage }
  | { readonly from: string; readonly to: string };

/** From this entry on the model sees `items` instead of everything before it, which stays in the file. */
export interface CompactionEntry extends Base {
  readonly kind: "compaction";
  /** The name of the strategy, or `extension`. */
  readonly strategy: string;
  readonly items: readonly CompactionItem[];
  /** Estimated tokens. */
  readonly before: number;
  readonly after: number;
}

/** The start of another branch at `parent`. */
export interface BranchEntry extends Base {
  readonly kind: "branch";
  readonly note?: string | undefined;
}

/**
 * Says that the conversation now stands at `target`. The last such entry counts; any later entry of the conversation moves it
 * on.
 */
export interface LeafEntry extends Base {
  readonly kind: "leaf";
  readonly target: string | null;
}

/** A name for another entry. */
export interface LabelEntry extends Base {
  readonly kind: "label";
  readonly target: string;
  /** Null removes the label. */
  readonly label: string | null;
}

/** From here on another model answered. For whoever reads the file: an agent that opens the session uses the `model` that it was given. */
export interface ModelEntry extends Base {
  readonly kind: "model";
  /** The id of the `LLMClient`. */
  readonly model: string;
}

/** A system prompt. It is stored once, however many turns use it. */
export interface PromptEntry extends Base {
  readonly kind: "prompt";
  readonly text: string;
}

/** Data of an extension. It is part of the path, but never sent to a model. */
export interface CustomEntry extends Base {
  readonly kind: "custom";
  readonly name: string;
  readonly data: JsonValue;
}

export type SessionEntry =
  | MessageEntry
  | CompactionEntry
  | BranchEntry
  | LeafEntry
  | LabelEntry
  | ModelEntry
  | PromptEntry
  | CustomEntry;

export type EntryKind = SessionEntry["kind"];

/**
 * What is kept of an entry in memory: its place in the tree and in the store. The contents of messages are read from the store
 * when needed.
 */
export interface EntryHead {
  readonly id: string;
  readonly parent: string | null;
  readonly kind: EntryKind;
  readonly at: number;
  /** Where the store has it, and its size there. Only the store interprets these. */
  readonly place: number;
  readonly size: number;
  /** The entry itself, only for the small kinds (leaf, label, branch, model). */
  readonly entry?: SessionEntry | undefined;
}

const KINDS: Readonly<Record<EntryKind, true>> = {
  message: true,
  compaction: true,
  branch: true,
  leaf: true,
  label: true,
  model: true,
  prompt: true,
  custom: true,
};

export function isKind(kind: string): kind is EntryKind {
  return Object.hasOwn(KINDS, kind);
}

const SMALL: ReadonlySet<EntryKind> = new Set<EntryKind>(["leaf", "label", "branch", "model"]);
const OUTSIDE_PATH: ReadonlySet<EntryKind> = new Set<EntryKind>(["leaf", "label", "prompt"]);

export function isSmall(kind: EntryKind): boolean {
  return SMALL.has(kind);
}

/** Whether an entry of this kind says something about the conversation without being part of a path. */
export function isOutsidePath(kind: EntryKind): boolean {
  return OUTSIDE_PATH.has(kind);
}

/** Only these characters, so that an id stands in a line unescaped and the front of the line can be read without a JSON parser. */
export const ENTRY_ID = /^[\w.-]{1,120}$/;

/** The head of an entry, or of the front of its line. */
export function headOf(
  { id, parent, kind, at }: Pick<EntryHead, "id" | "parent" | "kind" | "at">,
  place: number,
  size: number,
  entry: SessionEntry | undefined,
): EntryHead {
  const head = { id, parent, kind, at, place, size };
  return entry !== undefined && isSmall(kind) ? { ...head, entry } : head;
}
