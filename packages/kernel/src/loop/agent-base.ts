import type { Agent, AgentDefaults, AgentResult } from "../agent/agent.ts";
import type { Inbox } from "../agent/inbox.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { AgentId } from "../core/ids.ts";
import type { SchemaLike } from "../model/schema.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Pipelines } from "../ports/middleware.ts";

/** The fields that an agent has from its options. */
export interface AgentBaseParts<T = unknown> {
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly hooks?: Hooks | undefined;
  readonly middleware?: Pipelines | undefined;
  readonly output?: SchemaLike<T> | undefined;
}

/** The fields of an agent, for classes that add only how it works. */
export abstract class AgentBase<T = unknown> implements Agent<T> {
  readonly id: AgentId;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly hooks: Hooks | undefined;
  readonly pipelines: Pipelines | undefined;
  readonly output: SchemaLike<T> | undefined;
  readonly defaults: AgentDefaults | undefined;

  constructor(id: AgentId, parts: AgentBaseParts<T>, defaults: AgentDefaults | undefined) {
    this.id = id;
    this.version = parts.version;
    this.description = parts.description;
    this.hooks = parts.hooks;
    this.pipelines = parts.middleware;
    this.output = parts.output;
    this.defaults = defaults;
  }

  abstract run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>>;
}
