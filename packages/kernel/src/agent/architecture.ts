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
import type { Pipelines } from "../ports/middleware.ts";
import type { AuditLog, Memory, Permissions, Skippable, Telemetry } from "../ports/services.ts";

/** The state of one run. The agent creates it, the architecture changes it, and the agent reads its result from it. */
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

/** Everything that an architecture may use. The same frozen object for the whole run. */
export interface Dependencies {
  readonly model: LLMClient;
  readonly memory: Memory;
  /** The context that every call, hire and wait goes through. */
  readonly runtime: RunContext;
  /** Messages to the agent while it works. Absent if it gets none. */
  readonly inbox?: Inbox | undefined;
  readonly tools: readonly (Tool | DelegateTool)[];
  /** What is left of the agent's budget. */
  readonly budget: Skippable & { remaining(): Remaining };
  readonly permissions: Permissions;
  readonly hooks: Hooks;
  readonly telemetry: Telemetry;
  readonly auditLog: AuditLog | null;
  /** The agent's own layers, for workers that it creates. */
  readonly middleware?: Pipelines | undefined;
  readonly maxTurns: number;
  /** Whether somebody reads the events while they are produced. A reader may stop early. */
  readonly streaming: boolean;
  readonly scope: RunScope;
}

/** A reasoning strategy. It yields the events of its iterations; the agent itself emits `started` and `completed`. */
export interface Architecture {
  readonly name: string;
  run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void>;
  /** The agents that it may hire, by role. */
  declaredWorkers(): Readonly<Record<string, Agent>>;
}
