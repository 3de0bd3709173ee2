import type { DelegateTool, LLMClient } from "@ravi/kernel";
import { delegateTo } from "@ravi/kernel/loop";
import { MemorySessionStore } from "../store/memory-store.ts";
import type { ChildTool, SessionAgentOptions } from "./options.ts";
import type { Plan } from "./plan.ts";
import type { SessionAgent } from "./session-agent.ts";

/** The tools with which the model hands work to helpers. Each hand-off creates a new child, so several can work at once. */
export function childTools(
  parent: SessionAgent,
  children: readonly ChildTool[],
  toolNames: () => readonly string[],
): readonly DelegateTool[] {
  // By default a child gets no hand-off tools: children that pass work on to one another might never do it.
  const own = new Set(children.map(({ name }) => name));
  const others = (): readonly string[] => toolNames().filter((name) => !own.has(name));
  return children.map(({ name, description, tools, attachments }) => {
    const shape = delegateTo(parent, { name, description, attachments });
    return Object.freeze({
      ...shape,
      hire: (args: unknown) => ({
        ...shape.hire(args),
        agent: parent.spawnChild({ name, tools: tools ?? others() }),
      }),
    });
  });
}

/** The options of a child: its parent's limits, and a store in memory that only the child uses. */
export function childOptions({ options, cwd }: Plan, model: LLMClient, name: string): SessionAgentOptions {
  const { validator, settings, hooks, middleware, loopDetection, retry, secrets, clock, ids } = options;
  const { maxSteps, maxToolResultChars, toolConcurrency } = options;
  return {
    name,
    model,
    store: new MemorySessionStore(),
    cwd,
    validator,
    settings,
    hooks,
    // What the parent's layers do not let its model do, they do not let a child do either.
    middleware: middleware && { chat: middleware.chat, function: middleware.function },
    loopDetection,
    retry,
    secrets,
    clock,
    ids,
    maxSteps,
    maxToolResultChars,
    toolConcurrency,
  };
}
