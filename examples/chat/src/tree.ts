import { textOf } from "@ravi/kernel";
import type { EntryHead, SessionEntry, SessionManager } from "@ravi/session";

const WIDTH = 60;

/** The entries that can be forked from, numbered in the order in which they were written. */
export function placesIn(manager: SessionManager): readonly EntryHead[] {
  return manager.entries().filter(({ kind }) => kind !== "leaf" && kind !== "label" && kind !== "prompt");
}

/** The tree as text, with a line for each entry. A branch is indented below the entry where it begins. */
export async function treeOf(manager: SessionManager): Promise<string> {
  const places = placesIn(manager);
  const here = new Set(manager.path().map(({ id }) => id));
  const depth = new Map<string, number>();
  const children = new Map<string | null, number>();
  const lines: string[] = [];
  for (const [at, { id, parent }] of places.entries()) {
    const older = children.get(parent) ?? 0;
    children.set(parent, older + 1);
    const level = (parent === null ? 0 : (depth.get(parent) ?? 0)) + (older > 0 ? 1 : 0);
    depth.set(id, level);
    const mark = id === manager.leaf ? "*" : here.has(id) ? "|" : " ";
    const label = manager.labels.get(id);
    const name = label === undefined ? "" : ` [${label}]`;
    lines.push(`${mark} ${"  ".repeat(level)}${at + 1}. ${describe(await manager.read(id))}${name}`);
  }
  return lines.length === 0 ? "no messages yet" : lines.join("\n");
}

function describe(entry: SessionEntry): string {
  switch (entry.kind) {
    case "message": {
      const { message } = entry;
      const calls =
        message.role === "assistant" ? (message.toolCalls ?? []).map(({ name }) => `${name}()`) : [];
      return `${message.role}: ${clip([textOf(message), ...calls].filter((part) => part !== "").join(" "))}`;
    }
    case "compaction":
      return `compacted: ${entry.before} → ${entry.after} tokens`;
    case "branch":
      return `branch${entry.note === undefined ? "" : `: ${entry.note}`}`;
    case "model":
      return `model: ${entry.model}`;
    default:
      return entry.kind;
  }
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= WIDTH ? line : `${line.slice(0, WIDTH - 3)}...`;
}
