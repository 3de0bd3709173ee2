import type { Tool } from "@ravi/kernel";
import { clash, shown } from "../names.ts";

/** Where a tool comes from, for errors. */
const origins = new WeakMap<object, string>();

export function remember(tool: Tool, name: string, server: string): Tool {
  origins.set(tool, `${shown(name)} of ${shown(server)}`);
  return tool;
}

/**
 * The tools of several servers, and tools of your own, as one list. Throws an `InvalidValueError` that names both if two have the same
 * name.
 */
export function joinTools(...lists: readonly { readonly tools: readonly Tool[] }[]): readonly Tool[] {
  const named = new Map<string, Tool>();
  for (const tool of lists.flatMap(({ tools }) => tools)) {
    const other = named.get(tool.name);
    if (other !== undefined) throw clash(tool.name, originOf(other), originOf(tool));
    named.set(tool.name, tool);
  }
  return Object.freeze([...named.values()]);
}

function originOf(tool: Tool): string {
  return origins.get(tool) ?? "a tool of your own";
}
