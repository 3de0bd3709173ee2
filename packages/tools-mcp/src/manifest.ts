import { checkPlainJson, freezeNew, InvalidValueError, sameValue } from "@ravi/kernel";
import { field, isObject, listOf } from "@ravi/kernel/provider";
import type { McpChange, McpManifest, McpToolDefinition } from "./model.ts";
import { shown } from "./names.ts";

const PARTS = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/** A description of this size would fill a model's window, and each request would pay for it. */
const MAX_DEFINITION_CHARS = 100_000;
const MAX_TOOLS = 1_000;
const MAX_INSTRUCTIONS_CHARS = 100_000;

/**
 * An own, frozen copy of what a server has listed or somebody has approved. Throws an `InvalidValueError` if a tool cannot be used:
 * deeper than 64 levels, with a key `__proto__`, longer than 100,000 characters, or with the name of another.
 */
export function manifestOf(what: string, listed: unknown, instructions: unknown): McpManifest {
  const tools = listOf(listed).map((each, at) => definitionOf(`${what}.tools[${at}]`, each));
  if (tools.length > MAX_TOOLS)
    throw new InvalidValueError({
      field: `${what}.tools`,
      value: `a list of ${tools.length}`,
      expected: `at most ${MAX_TOOLS} tools; choose with include`,
    });
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const [at, { name }] of sorted.entries()) {
    if (name !== sorted[at + 1]?.name) continue;
    const expected = "a different name for each tool of a server";
    throw new InvalidValueError({ field: `${what}: two tools`, value: name, expected });
  }
  const text = typeof instructions === "string" ? instructions.slice(0, MAX_INSTRUCTIONS_CHARS) : undefined;
  return freezeNew({ ...(text === undefined || text === "" ? {} : { instructions: text }), tools: sorted });
}

/** A manifest that was kept as JSON. */
export function readManifest(kept: unknown): McpManifest {
  const tools = field(kept, "tools");
  if (!Array.isArray(tools)) {
    const expected = "a manifest: what server.manifest was when it was approved, parsed from JSON";
    throw new InvalidValueError({ field: "approved", value: kept, expected });
  }
  return manifestOf("approved", tools, field(kept, "instructions"));
}

function definitionOf(what: string, listed: unknown): McpToolDefinition {
  const name = field(listed, "name");
  if (typeof name !== "string")
    throw new InvalidValueError({ field: `${what}.name`, value: name, expected: "a string" });
  const definition: Record<string, unknown> = { name };
  for (const part of PARTS) {
    const value = field(listed, part);
    if (value !== undefined) definition[part] = value;
  }
  const owner = `the tool ${shown(name)} of ${what}`;
  if (!isObject(definition["inputSchema"]))
    throw new InvalidValueError({
      field: `${owner}: inputSchema`,
      value: definition["inputSchema"],
      expected: "a JSON Schema",
    });
  // Before it is written as JSON, which would overflow the stack.
  checkPlainJson(owner, definition);
  const text = JSON.stringify(definition);
  if (text.length > MAX_DEFINITION_CHARS)
    throw new InvalidValueError({
      field: owner,
      value: `a definition of ${text.length} characters`,
      expected: `at most ${MAX_DEFINITION_CHARS}; leave the tool out with exclude`,
    });
  return freezeNew(JSON.parse(text) as McpToolDefinition);
}

/** What is different from the manifest that was approved. Empty if nothing is. */
export function changesBetween(approved: McpManifest, now: McpManifest): readonly McpChange[] {
  const changes: McpChange[] = [];
  if (approved.instructions !== now.instructions) changes.push({ tool: null, changed: ["instructions"] });
  const offered = new Map(now.tools.map((each) => [each.name, each]));
  for (const known of approved.tools) {
    const changed = changedParts(known, offered.get(known.name));
    if (changed.length > 0) changes.push({ tool: known.name, changed });
    offered.delete(known.name);
  }
  for (const tool of offered.keys()) changes.push({ tool, changed: ["new"] });
  return freezeNew(changes);
}

function changedParts(known: McpToolDefinition, now: McpToolDefinition | undefined): readonly string[] {
  if (now === undefined) return ["removed"];
  return PARTS.filter((part) => !sameValue(known[part], now[part]));
}
