import { type DelegateTool, InvalidValueError, type Tool } from "@ravi/kernel";
import { checkTools, toolSpec } from "@ravi/kernel/loop";
import type { ExtensionHost } from "../extensions/host.ts";
import { checkExtension, loadExtension } from "../extensions/load.ts";
import type { Extension } from "../extensions/extension.ts";
import { GuardrailChain } from "../guardrails/chain.ts";
import { loadGuardrails, type OwnedGuardrail } from "../guardrails/load.ts";
import type { EphemeralSource } from "../prompt/ephemeral.ts";
import type { PromptBuilder } from "../prompt/builder.ts";
import { SKILL_TOOL, skillTool } from "../prompt/skills.ts";
import type { MergedTools } from "../turn/deps.ts";
import { OWNER, type Plan } from "./plan.ts";

/** What a session loads from its options and files; `reload` loads it again. */
export interface Parts {
  readonly guardrails: readonly OwnedGuardrail[];
  readonly guard: GuardrailChain;
  readonly ephemeral: readonly EphemeralSource[];
  readonly merged: MergedTools;
}

/**
 * Reads the files that the user named and assembles all parts. If one of them cannot be read it throws, and nothing has
 * changed.
 */
export async function loadParts(
  plan: Plan,
  host: ExtensionHost,
  promptBuilder: PromptBuilder,
  children: readonly DelegateTool[],
): Promise<Parts> {
  const { options, cwd } = plan;
  const extensions: Extension[] = [];
  for (const [at, source] of (options.extensions ?? []).entries()) {
    extensions.push(
      typeof source === "string"
        ? await loadExtension(source, cwd)
        : checkExtension(source, `SessionAgent.extensions[${at}]`),
    );
  }
  const given = options.guardrails ?? [];
  const guardrails = await loadGuardrails({
    given: [
      ...extensions.flatMap((extension) => extension.guardrails ?? []),
      ...given.filter((source) => typeof source !== "string"),
    ],
    files: given.filter((source) => typeof source === "string"),
    cwd,
  });
  await promptBuilder.prepare();
  const builtIn = [...(options.tools ?? []), ...children];
  const names = new Set(builtIn.map(({ name }) => name));
  if (promptBuilder.skills.length > 0 && !names.has(SKILL_TOOL))
    builtIn.push(skillTool(() => promptBuilder.skills));
  const merged = mergeTools(builtIn, extensions);
  host.extensions = extensions;
  return {
    guardrails,
    guard: new GuardrailChain(guardrails, host, plan.loopDetection),
    ephemeral: [
      ...(options.ephemeral ?? []),
      ...extensions.flatMap((extension) => extension.ephemeral ?? []),
    ],
    merged,
  };
}

/** Built-in tools take precedence, then the tools of the extension that comes first. */
function mergeTools(
  builtIn: readonly (Tool | DelegateTool)[],
  extensions: readonly Extension[],
): MergedTools {
  checkTools(OWNER, builtIn);
  const merged = new Map(builtIn.map((tool) => [tool.name, tool]));
  for (const { name: source, tools = [] } of extensions) {
    checkTools(OWNER, tools, `extension ${source}: tools`);
    for (const tool of tools) if (!merged.has(tool.name)) merged.set(tool.name, tool);
  }
  const tools = Object.freeze([...merged.values()]);
  return { tools, specs: tools.length === 0 ? undefined : Object.freeze(tools.map(toolSpec)) };
}

/** The tools that a child may call, as a set. Throws an `InvalidValueError` if there is no tool of a name. */
export function allowList(
  child: string,
  names: readonly string[] | undefined,
  merged: MergedTools,
): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined;
  for (const name of names) {
    if (merged.tools.some((tool) => tool.name === name)) continue;
    const known = merged.tools.map((tool) => tool.name).join(", ") || "none";
    throw new InvalidValueError({ field: `tools of ${child}`, value: name, expected: `one of ${known}` });
  }
  return new Set(names);
}
