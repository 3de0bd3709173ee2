import type { Inbox } from "../agent/inbox.ts";
import type { HireOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { Clock, IdSource } from "../core/clock.ts";
import type { AgentId } from "../core/ids.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { DurableEngine } from "./engine.ts";
import type { CompactionStrategy, HistoryProvider } from "./history.ts";
import type { Hooks } from "./hooks.ts";
import type { Meter } from "./ledger.ts";
import type { Limiter } from "./limiter.ts";
import type { Pipelines } from "./middleware.ts";
import type { AuditLog, Logger, Memory, Permissions, Telemetry } from "./services.ts";

/** The services that every execution of a run shares, whatever engine carries it. */
export interface ContextPorts {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly hooks: Hooks;
  readonly pipelines?: Pipelines | undefined;
  readonly meter?: Meter | undefined;
  readonly limiter?: Limiter | undefined;
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  readonly memory?: Memory | undefined;
  readonly permissions?: Permissions | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly auditLog?: AuditLog | undefined;
  /** Checks the arguments of tools whose schema is a raw JSON Schema. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly logger?: Logger | undefined;
}

/** One agent with its context, ready to run on its engine. */
export interface AgentRun {
  readonly agentId: AgentId;
  readonly context: RunContext;
  readonly inbox: Inbox;
  /** Runs the agent to its end; its failure is an outcome. Throws only the engine's suspension and errors of the engine itself. */
  run(): Promise<HireOutcome>;
}

/** The type of `createRunContext` in `@ravi/runtime`, which is handed to other engines. */
export type CreateRunContext = (engine: DurableEngine, ports: ContextPorts) => AgentRun;
