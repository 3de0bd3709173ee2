import type { Agent } from "../agent/agent.ts";
import type { RunEvent } from "../agent/events.ts";
import type { RunContext, WindowOptions } from "../agent/run-context.ts";
import { checkFields, checkFunction } from "../core/check.ts";
import { type Clock, type IdSource, systemClock, systemIds } from "../core/clock.ts";
import { AgentId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { AbortSignalLike } from "../core/types.ts";
import type { Attachment, ChatMessage } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import { Supervision } from "../policy/supervision.ts";
import { type Hooks, NO_HOOKS } from "../ports/hooks.ts";
import { CancellationToken } from "../run/cancellation.ts";
import { RunMeta } from "../run/run-meta.ts";
import { refuseBudget, refuseLayers } from "./bare/bare-child.ts";
import type { BareInbox } from "./bare-inbox.ts";
import { BareRun, type BareTree } from "./bare/bare-run.ts";
import { BareSignals } from "./bare/bare-signals.ts";
import { checkPorts } from "./check-ports.ts";
import { guardedHooks } from "./guarded-hooks.ts";
import { ownMetadata } from "./own-metadata.ts";

export interface BareContextOptions {
  /**
   * The agent that will run in it. Its hooks are called. An agent with middleware or an `executionBudget` is refused, because nothing here
   * would run or enforce it.
   */
  readonly agent?: Agent | undefined;
  /** Default: the agent's. */
  readonly agentId?: AgentId | undefined;
  readonly supervision?: Supervision | undefined;
  /** Cancels the run. */
  readonly signal?: AbortSignalLike | undefined;
  readonly userId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly hooks?: Hooks | undefined;
  readonly validator?: JsonSchemaValidator | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  /** Gets every event of the tree. If it is set, models are streamed. It is read again at each event and model call. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

const OWNER = "bareContext";
const OPTIONS = [
  "agent",
  "agentId",
  "supervision",
  "signal",
  "userId",
  "tenantId",
  "metadata",
  "hooks",
  "validator",
  "clock",
  "ids",
  "onEvent",
] as const satisfies readonly (keyof BareContextOptions)[];

/**
 * A context without limits and without a journal: for a single agent, for tests, and for trying things out. An `executionBudget`, of an
 * agent or of a hire, is refused. Headcounts have no effect in it.
 */
export interface BareContext extends RunContext {
  /** Makes the inbox to run an agent with: `agent.run(ctx, ctx.inbox("the task"))`. */
  inbox(input: string, attachments?: readonly Attachment[]): BareInbox;
  /** Answers a `waitFor`, even before it is called. */
  deliver(name: string, value: JsonValue): void;
  // Synchronous, because there is no journal to wait for.
  window(options?: WindowOptions): readonly ChatMessage[];
  remember(message: ChatMessage): void;
  now(): number;
  random(): number;
  uuid(): string;
  check(): void;
}

/**
 * Makes a context without limits and without a journal, for tests and for trying an agent out. It enforces no budget and no
 * headcount.
 */
export function bareContext(options: BareContextOptions = {}): BareContext {
  checkOptions(options);
  const { agent } = options;
  if (agent !== undefined) refuseLayers(agent);
  if (agent !== undefined) refuseBudget("agent ", agent.id, agent.defaults?.executionBudget);
  refuseBudget(OWNER, ".supervision", options.supervision?.executionBudget);
  const supervision =
    options.supervision ??
    Supervision.root(options.agentId ?? agent?.id ?? AgentId("agent"), { ids: options.ids });
  const tree: BareTree = {
    scope: Object.freeze({
      userId: options.userId ?? null,
      tenantId: options.tenantId ?? null,
      sessionId: supervision.sessionId,
      runId: supervision.runId,
      metadata: ownMetadata(options.metadata),
    }),
    hooks: options.hooks === undefined ? NO_HOOKS : guardedHooks(options.hooks),
    validator: options.validator,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
    listening: options,
    seq: 0,
    signals: new BareSignals(),
  };
  const meta = RunMeta.of({
    supervision,
    cancellation: new CancellationToken(options.signal),
    tenantId: options.tenantId,
    clock: tree.clock,
    ids: tree.ids,
  });
  return new BareRun(tree, meta, supervision, tree.scope, agent?.hooks);
}

/** A limit or a guard that nothing here would enforce is an error. */
function checkOptions(options: BareContextOptions): void {
  checkFields(OWNER, options, OPTIONS);
  const { hooks, validator, clock, ids, onEvent } = options;
  checkPorts(OWNER, { hooks, validator, clock, ids });
  checkFunction(`${OWNER}.onEvent`, onEvent);
}
