import {
  type Agent,
  type AgentId,
  type Attachment,
  AgentNotFoundError,
  type AgentResult,
  deepFreeze,
  type JsonObject,
  type MaybePromise,
  type RunEvent,
  type RunScope,
  Supervision,
} from "@ravi/kernel";
import {
  checkMessage,
  checkRecord,
  checkRun,
  newRoot,
  ownAttachments,
  ownMetadata,
  refuseUnkept,
  RUN_START_OPTIONS,
  type RunStartOptions,
  versionName,
} from "@ravi/kernel/loop";
import { checkKept, type Keepers, unkeptBy } from "./run/keepers.ts";
import { withAgentLedger } from "./tree/ledgers.ts";
import { textAt } from "./engine/body.ts";
import { type ResultRecord, resultToJSON } from "./engine/hire-record.ts";
import type { Ports } from "./ports.ts";

/** Options of `run`. All are optional. A `runId` in use is refused by `run` if that run is under way here, else by `result`. */
export interface RunOptions extends RunStartOptions {
  /**
   * Called synchronously with each event of the tree, before the run goes on: the fastest way to follow a stream. Errors that it
   * throws are logged and ignored. To read at your own pace, use `events()` of the handle.
   */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /**
   * Plain JSON for the `ledger` of the runtime: it is recorded with the start of the run, so that it gets the same when the run is resumed.
   * Agents, tools and hooks do not see it. Default: none.
   */
  readonly facts?: JsonObject | undefined;
}

/** What a run needs to start, and what its first journal entry contains. */
export interface Start {
  readonly agent: Agent;
  readonly input: string;
  readonly attachments: readonly Attachment[] | undefined;
  readonly root: Supervision;
  readonly deadline: number | null;
  readonly tenantId: string | null;
  readonly userId: string | null;
  readonly metadata: JsonObject;
  readonly facts?: JsonObject | undefined;
  /** The limits that nothing keeps in this runtime; undefined if all are kept. Only for the record. */
  readonly unkept?: readonly string[] | undefined;
  /** The answer of a layer around the agent, instead of the agent's own. */
  readonly refused?: AgentResult | undefined;
}

/** A new run from the caller's options and the agent's defaults. Throws if an argument is wrong or a limit cannot be enforced. */
export function newStart(ports: Ports, agent: Agent, input: string, options: RunOptions): Start {
  const { ids, clock } = ports;
  checkRun(agent, input, options, OPTIONS);
  const root = newRoot(agent, options, ids);
  const spawns = options.spawnBudget ?? agent.defaults?.spawnBudget;
  const keepers = keepersHere(ports, agent);
  refuseUnkept(keepers, root.executionBudget, spawns);
  const { deadlineS } = root.executionBudget;
  const deadline = deadlineS === null ? null : clock.now() + deadlineS * 1000;
  const { tenantId = null, userId = null, metadata } = options;
  const attachments = ownAttachments("run options.attachments", options.attachments);
  const start = {
    agent,
    input,
    attachments,
    root,
    deadline,
    tenantId,
    userId,
    metadata: ownMetadata(metadata),
    unkept: unkeptBy(keepers),
  };
  return options.facts === undefined ? start : { ...start, facts: ownFacts(options.facts) };
}

/** What this runtime has for the runs of an agent. The agent may have a ledger of its own. */
function keepersHere({ ledger, headcount }: Ports, agent: Agent): Keepers {
  const isMetered = ledger !== undefined || withAgentLedger(agent, undefined) !== undefined;
  return { isMetered, isCounted: headcount !== undefined };
}

const OPTIONS: readonly (keyof RunOptions)[] = [...RUN_START_OPTIONS, "onEvent", "facts"];

function ownFacts(facts: JsonObject): JsonObject {
  checkRecord("run options.facts", facts, "an object of plain JSON");
  checkMessage("run options.facts", facts);
  return ownMetadata(facts);
}

/**
 * A run from its first journal entry. It needs the same version of its agent, and what keeps its limits. Throws an `AgentNotFoundError` if
 * its agent is not registered, and an `InvalidValueError` if nothing here would keep its limits. A run that was cancelled (`isCancelled` is
 * asked then) needs neither, because nothing of it is run any more.
 */
export async function readStart(
  ports: Ports,
  agents: ReadonlyMap<string, Agent>,
  body: JsonObject,
  isCancelled: () => MaybePromise<boolean>,
): Promise<Start> {
  const name = textAt(body, "agent");
  const root = Supervision.fromJSON(body["supervision"]);
  const known = agents.get(name);
  const missing = (): Error => new AgentNotFoundError({ agent: name, known: [...agents.keys()] });
  try {
    if (known === undefined) throw missing();
    checkKept(root, body, keepersHere(ports, known));
  } catch (problem) {
    if (!(await isCancelled())) throw problem;
  }
  const agent = known ?? standIn(root.agentId, missing);
  const deadline = body["deadline"];
  return {
    agent,
    input: textAt(body, "input"),
    attachments: ownAttachments("attachments", body["attachments"]),
    root,
    deadline: typeof deadline === "number" ? deadline : null,
    tenantId: textAt(body, "tenantId") || null,
    userId: textAt(body, "userId") || null,
    metadata: deepFreeze((body["metadata"] ?? {}) as JsonObject),
    facts: body["facts"] as JsonObject | undefined,
    refused: body["refused"] as ResultRecord | undefined,
  };
}

/** Stands in for an agent that nobody needs any more. */
function standIn(id: AgentId, missing: () => Error): Agent {
  return {
    id,
    async run(ctx) {
      await ctx.check();
      throw missing();
    },
  };
}

/** Whether the record contains nothing from a layer. Its data may not be plain JSON, which only shows when it is serialized. */
export function isPlainStart({ refused }: Start): boolean {
  return refused === undefined;
}

/** What layers, tools and hooks may know of the run. */
export function scopeOf({ root, tenantId, userId, metadata }: Start): RunScope {
  const { sessionId, runId } = root;
  return Object.freeze({ userId, tenantId, sessionId, runId, metadata });
}

/** The content of the first journal entry. */
export function startRecord(start: Start): JsonObject {
  const { agent, input, attachments, root, deadline, tenantId, userId, metadata, facts, unkept, refused } =
    start;
  const supervision = root.toJSON();
  const given = { agent: versionName(agent), input, supervision, deadline, tenantId, userId, metadata };
  const common = unkept === undefined ? given : { ...given, unkept };
  const record = facts === undefined ? common : { ...common, facts };
  // After a crash before the result is recorded, a refused input must still be refused. Nobody will read what came with it.
  if (refused !== undefined) return { ...record, refused: resultToJSON(refused) };
  return attachments === undefined ? record : { ...record, attachments };
}
