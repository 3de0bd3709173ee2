import type { ChatMessage, JsonValue, Usage } from "@ravi/kernel";

interface Base {
  readonly id: string;
  /** What it follows; null at the root. */
  readonly parent: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Something that was said. */
export interface MessageEntry extends Base {
  readonly kind: "message";
  readonly message: ChatMessage;
  /** Of the model call that gave it. */
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
  /** The entry of the system prompt that this turn went out with; on the user's message. */
  readonly prompt?: string | undefined;
}

/** A message of its own, or the messages of the entries from one to another, both included, on the way to the root. */
export type CompactionItem =
  | { readonly message: ChatMessage }
  | { readonly from: string; readonly to: string };

/** From here on the model sees `items` in place of all that came before. What came before stays in the file. */
export interface CompactionEntry extends Base {
  readonly kind: "compaction";
  readonly strategy: string;
  readonly items: readonly CompactionItem[];
  /** Estimated tokens. */
  readonly before: number;
  readonly after: number;
}

/** Another way forward from `parent`. */
export interface BranchEntry extends Base {
  readonly kind: "branch";
  readonly note?: string | undefined;
}

/** The conversation stands at `target` now. The last word on it counts; any other entry of the tree moves it too. */
export interface LeafEntry extends Base {
  readonly kind: "leaf";
  readonly target: string | null;
}

export interface LabelEntry extends Base {
  readonly kind: "label";
  readonly target: string;
  /** Null takes it off. */
  readonly label: string | null;
}

export interface ModelEntry extends Base {
  readonly kind: "model";
  readonly model: string;
}

/** A system prompt, written once however many turns use it. */
export interface PromptEntry extends Base {
  readonly kind: "prompt";
  readonly text: string;
}

/** An extension's own. It is on the way to the root, and no model sees it. */
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

/** What is kept of an entry in memory: its place in the tree and in the store. Bodies of messages are read when needed. */
export interface EntryHead {
  readonly id: string;
  readonly parent: string | null;
  readonly kind: EntryKind;
  readonly at: number;
  /** Where the store has it, and how much it is; for the store alone. */
  readonly place: number;
  readonly size: number;
  /** Of the small kinds (leaf, label, branch, model) the entry itself. */
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
const ASIDE: ReadonlySet<EntryKind> = new Set<EntryKind>(["leaf", "label", "prompt"]);

export function isSmall(kind: EntryKind): boolean {
  return SMALL.has(kind);
}

/** Whether it says something about the tree and is no part of it. */
export function isAside(kind: EntryKind): boolean {
  return ASIDE.has(kind);
}

/** Ids stand in a line as they are, so that a line is read without being parsed. */
export const ENTRY_ID = /^[\w.-]{1,120}$/;

/** Of an entry, or of as much as was read of it. */
export function headOf(
  { id, parent, kind, at }: Pick<EntryHead, "id" | "parent" | "kind" | "at">,
  place: number,
  size: number,
  entry: SessionEntry | undefined,
): EntryHead {
  const head = { id, parent, kind, at, place, size };
  return entry !== undefined && isSmall(kind) ? { ...head, entry } : head;
}
