import type { Agent } from "./agent.ts";
import type { AgentEvent } from "./events.ts";
import type { Inbox } from "./inbox.ts";
import type { RunContext } from "./run-context.ts";
import type { RunScope } from "./scope.ts";
import type { JsonValue } from "../core/json.ts";
import type { LLMClient } from "../model/llm.ts";
import type { ChatMessage } from "../model/messages.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Remaining } from "../ports/ledger.ts";
import type { AuditLog, Memory, Permissions, Skippable, Telemetry } from "../ports/services.ts";

/** The mutable state of one run: the agent makes it, the architecture changes it, the agent reads the result from it. */
export interface AgentSession {
  readonly id: string;
  readonly instructions: string;
  messages: ChatMessage[];
  turns: number;
  output: string;
  cumulativeUsage: Usage;
  interrupted: boolean;
  interruptionReason: string | null;
  metadata: Record<string, JsonValue>;
}

/** All that an architecture may use. Frozen for the run. */
export interface Dependencies {
  readonly model: LLMClient;
  readonly memory: Memory;
  /** The context: every call, hire and wait goes through it. */
  readonly runtime: RunContext;
  /** Who talks to the agent while it works, where it can be talked to. */
  readonly inbox?: Inbox | undefined;
  readonly tools: readonly (Tool | DelegateTool)[];
  /** What is left. */
  readonly budget: Skippable & { remaining(): Remaining };
  readonly permissions: Permissions;
  readonly hooks: Hooks;
  readonly telemetry: Telemetry;
  readonly auditLog: AuditLog | null;
  readonly maxTurns: number;
  /** Somebody reads the events as they come, and may break off. */
  readonly streaming: boolean;
  readonly scope: RunScope;
}

/** A way of thinking. It yields only what happens while it iterates; the agent says when it started and completed. */
export interface Architecture {
  readonly name: string;
  run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void>;
  /** The agents it works with, by role. */
  declaredWorkers(): Readonly<Record<string, Agent>>;
}
