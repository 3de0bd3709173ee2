import { checkFields, checkInteger, checkOneOf, checkText } from "../core/check.ts";
import { type IdSource, systemIds } from "../core/clock.ts";
import { AgentId, isAgentId, RunId, SessionId, TopicId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import { BudgetExhaustedError, InvalidValueError } from "../errors/errors.ts";
import { type ExecutionBudget, type ExecutionBudgetOptions, executionBudget } from "./execution-budget.ts";
import { POLICY_VERSION, readRecord } from "./record.ts";
import { HistoryRetention, Priority } from "./scales.ts";
import { type SpawnBudget, type SpawnBudgetOptions, spawnBudget } from "./spawn-budget.ts";

/** One agent's place in a tree: the agent that it reports to, and its limits. Frozen; `spawnChild` makes a new node. */
export interface Supervision {
  readonly agentId: AgentId;
  /** The run. Budgets, supervision, replay and progress are kept by this id. */
  readonly runId: RunId;
  /** The conversation, which may span many runs. History is kept by this id. */
  readonly sessionId: SessionId;
  readonly rootId: AgentId;
  /** The agent that hired it; null for the root. */
  readonly parentId: AgentId | null;
  /** 0 for the root. */
  readonly depth: number;
  /** The same object for the whole tree. */
  readonly spawnBudget: SpawnBudget;
  readonly executionBudget: ExecutionBudget;
  readonly retention: HistoryRetention;
  readonly priority: Priority;
  readonly isRoot: boolean;
  /** The topic of the whole tree's progress events. */
  readonly progressTopic: TopicId;
  /** The node of an agent that this one hires. Throws a `BudgetExhaustedError` if that would be deeper than `maxDepth`. */
  spawnChild(options?: SpawnChildOptions): Supervision;
  toJSON(): JsonObject;
}

/** Options of `Supervision.root`. */
export interface RootOptions {
  /** Default: a new conversation. Pass an id to continue that conversation. */
  readonly sessionId?: SessionId | string | undefined;
  /** Default: a new id. */
  readonly runId?: RunId | string | undefined;
  readonly spawnBudget?: SpawnBudgetOptions | null | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | null | undefined;
  /** Default: PERMANENT. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: NORMAL. */
  readonly priority?: Priority | undefined;
  readonly ids?: IdSource | undefined;
}

/** Options of `Supervision.spawnChild`. */
export interface SpawnChildOptions {
  /** Default: a random id. */
  readonly agentId?: AgentId | undefined;
  /** Default: the node that spawns it. */
  readonly parentId?: AgentId | undefined;
  /** Default: RUN. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: NORMAL. */
  readonly priority?: Priority | undefined;
  /** Default (or null): the parent's. */
  readonly executionBudget?: ExecutionBudgetOptions | null | undefined;
  readonly ids?: IdSource | undefined;
}

type NodeFields = Omit<Supervision, "isRoot" | "progressTopic" | "spawnChild" | "toJSON">;

class Node implements Supervision {
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly rootId: AgentId;
  readonly parentId: AgentId | null;
  readonly depth: number;
  readonly spawnBudget: SpawnBudget;
  readonly executionBudget: ExecutionBudget;
  readonly retention: HistoryRetention;
  readonly priority: Priority;

  constructor(fields: NodeFields) {
    this.agentId = fields.agentId;
    this.runId = fields.runId;
    this.sessionId = fields.sessionId;
    this.rootId = fields.rootId;
    this.parentId = fields.parentId;
    this.depth = fields.depth;
    this.spawnBudget = fields.spawnBudget;
    this.executionBudget = fields.executionBudget;
    this.retention = checkRetention(fields.retention);
    this.priority = checkPriority(fields.priority);
    Object.freeze(this);
  }

  get isRoot(): boolean {
    return this.parentId === null;
  }

  get progressTopic(): TopicId {
    return TopicId("agent.progress", this.runId);
  }

  spawnChild(options: SpawnChildOptions = {}): Supervision {
    checkFields("supervision", options, CHILD_OPTIONS);
    const depth = this.depth + 1;
    const { maxDepth } = this.spawnBudget;
    if (maxDepth !== null && depth > maxDepth) {
      const hint = `${this.agentId} is at the maximum depth and cannot hire; raise maxDepth, or let it do the work itself`;
      throw new BudgetExhaustedError({
        dimension: "depth",
        used: this.depth,
        limit: maxDepth,
        scope: this.rootId,
        hint,
      });
    }
    const agentId = isGiven(options.agentId)
      ? readAgentId("supervision.agentId", options.agentId)
      : AgentId("agent", (options.ids ?? systemIds).uuid());
    const parentId = isGiven(options.parentId)
      ? readAgentId("supervision.parentId", options.parentId)
      : this.agentId;
    if (agentId === parentId) {
      const expected = `an id other than its parent's, such as AgentId("${agentId}", 2): an agent cannot report to itself`;
      throw new InvalidValueError({ field: "supervision.agentId", value: agentId, expected });
    }
    return new Node({
      agentId,
      runId: this.runId,
      sessionId: this.sessionId,
      rootId: this.rootId,
      parentId,
      depth,
      spawnBudget: this.spawnBudget,
      executionBudget: isGiven(options.executionBudget)
        ? executionBudget(options.executionBudget)
        : this.executionBudget,
      retention: options.retention ?? HistoryRetention.RUN,
      priority: options.priority ?? Priority.NORMAL,
    });
  }

  toJSON(): JsonObject {
    return {
      v: POLICY_VERSION,
      agentId: this.agentId,
      runId: this.runId,
      sessionId: this.sessionId,
      rootId: this.rootId,
      parentId: this.parentId,
      depth: this.depth,
      retention: this.retention,
      priority: this.priority,
      spawnBudget: this.spawnBudget.toJSON(),
      executionBudget: this.executionBudget.toJSON(),
    };
  }
}

const FIELDS: readonly (keyof NodeFields)[] = [
  "agentId",
  "runId",
  "sessionId",
  "rootId",
  "parentId",
  "depth",
  "spawnBudget",
  "executionBudget",
  "retention",
  "priority",
];

const ROOT_OPTIONS = [
  "sessionId",
  "runId",
  "spawnBudget",
  "executionBudget",
  "retention",
  "priority",
  "ids",
] as const satisfies readonly (keyof RootOptions)[];

const CHILD_OPTIONS = [
  "agentId",
  "parentId",
  "retention",
  "priority",
  "executionBudget",
  "ids",
] as const satisfies readonly (keyof SpawnChildOptions)[];

/** Like `Supervision.root`, for callers whose options have been checked for unknown fields. */
export function rootNode(agentId: AgentId, options: RootOptions): Supervision {
  const ids = options.ids ?? systemIds;
  return new Node({
    agentId: readAgentId("agentId", agentId),
    runId: isGiven(options.runId) ? RunId(options.runId) : freshId(ids, RunId),
    sessionId: isGiven(options.sessionId) ? SessionId(options.sessionId) : freshId(ids, SessionId),
    rootId: agentId,
    parentId: null,
    depth: 0,
    spawnBudget: spawnBudget(options.spawnBudget ?? undefined),
    executionBudget: executionBudget(options.executionBudget ?? undefined),
    retention: options.retention ?? HistoryRetention.PERMANENT,
    priority: options.priority ?? Priority.NORMAL,
  });
}

/** Makes the nodes of a tree: call `root` once for the agent that the user talks to, then `spawnChild` on each node. */
export const Supervision = Object.freeze({
  root(agentId: AgentId, options: RootOptions = {}): Supervision {
    checkFields("supervision", options, ROOT_OPTIONS);
    return rootNode(agentId, options);
  },

  /** Reads what `toJSON` returned. Throws an `InvalidValueError` if the version or a field is not known. */
  fromJSON(json: unknown): Supervision {
    const record = readRecord("supervision", json, FIELDS);
    const parentId = record["parentId"];
    return new Node({
      agentId: readAgentId("supervision.agentId", record["agentId"]),
      runId: RunId(checkText("supervision.runId", record["runId"])),
      sessionId: SessionId(checkText("supervision.sessionId", record["sessionId"])),
      rootId: readAgentId("supervision.rootId", record["rootId"]),
      parentId: parentId === null ? null : readAgentId("supervision.parentId", parentId),
      depth: checkInteger("supervision.depth", record["depth"], 0),
      spawnBudget: spawnBudget.fromJSON(record["spawnBudget"]),
      executionBudget: executionBudget.fromJSON(record["executionBudget"]),
      // The constructor checks these two.
      retention: record["retention"] as HistoryRetention,
      priority: record["priority"] as Priority,
    });
  },
});

// The usual values are compared first: to search all of them by name takes 2 % of the time of a bare run.

function checkRetention(value: HistoryRetention): HistoryRetention {
  if (value === HistoryRetention.PERMANENT || value === HistoryRetention.RUN) return value;
  return checkOneOf("supervision.retention", value, HistoryRetention);
}

function checkPriority(value: Priority): Priority {
  if (value === Priority.NORMAL) return value;
  return checkOneOf("supervision.priority", value, Priority);
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** UUIDs of the default source are always valid, so they are not checked character by character. */
function freshId<Id extends string>(ids: IdSource, check: (value: string) => Id): Id {
  return ids === systemIds ? (ids.uuid() as Id) : check(ids.uuid());
}

function readAgentId(field: string, value: unknown): AgentId {
  const text = checkText(field, value);
  if (isAgentId(text)) return text;
  const slash = text.indexOf("/");
  return slash === -1 ? AgentId(text) : AgentId(text.slice(0, slash), text.slice(slash + 1));
}
