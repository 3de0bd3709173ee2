import {
  type AgentId,
  InvalidValueError,
  type JsonObject,
  checkFields,
  checkInteger,
  checkOneOf,
  spawnBudget,
} from "@ravi/kernel";
import { checkAgentId } from "./check-id.ts";
import { checkPriority } from "./ranks.ts";
import type { AgentState, RosterState, WaitingState } from "../state.ts";

const VERSION = 1;
const FIELDS = ["v", "budget", "agingMs", "now", "total", "root", "agents", "waiting"] as const;
const KINDS = Object.freeze({ paused: "paused", queued: "queued" } as const);

export function writeSnapshot(state: RosterState): JsonObject {
  return {
    v: VERSION,
    budget: state.budget.toJSON(),
    agingMs: state.agingMs,
    now: state.now,
    total: state.total,
    root: { ...state.root },
    agents: state.agents.map((agent) => ({ ...agent })),
    waiting: state.waiting.map((place) => ({ ...place })),
  };
}

/**
 * Reads data from a disk or a network: checks every field, and that the whole is a possible state. Throws an `InvalidValueError`.
 */
export function readSnapshot(json: unknown): RosterState {
  const fields = checkFields("snapshot", json, FIELDS);
  if (fields["v"] !== VERSION) {
    throw invalid("v", fields["v"], `${VERSION}, the only supported version`);
  }
  const budget = spawnBudget.fromJSON(fields["budget"]);
  const rootFields = checkFields("snapshot.root", fields["root"], ["id", "priority"]);
  const root = {
    id: checkAgentId("snapshot.root.id", rootFields["id"]),
    priority: checkPriority("snapshot.root.priority", rootFields["priority"]),
  };
  const depths = new Map<AgentId, number>([[root.id, 0]]);
  const agents = list("agents", fields["agents"]).map((item, at) => readAgent(`agents[${at}]`, item, depths));
  const unseen = new Set(agents.map(({ id }) => id));
  const waiting = list("waiting", fields["waiting"]).map((item, at) =>
    readPlace(`waiting[${at}]`, item, unseen),
  );
  const state: RosterState = {
    budget,
    agingMs: checkInteger("snapshot.agingMs", fields["agingMs"], 1),
    now: checkTime("now", fields["now"]),
    total: checkInteger("snapshot.total", fields["total"], agents.length + 1),
    root,
    agents,
    waiting,
  };
  refuseImpossible(state);
  return state;
}

function readAgent(at: string, json: unknown, depths: Map<AgentId, number>): AgentState {
  const fields = checkFields(`snapshot.${at}`, json, ["id", "parentId", "depth", "priority"]);
  const id = checkAgentId(`snapshot.${at}.id`, fields["id"]);
  if (depths.has(id)) throw invalid(`${at}.id`, id, "each agent only once");
  const parentId = checkAgentId(`snapshot.${at}.parentId`, fields["parentId"]);
  const above = depths.get(parentId);
  if (above === undefined)
    throw invalid(`${at}.parentId`, parentId, "the root, or an agent listed before it");
  const depth = checkInteger(`snapshot.${at}.depth`, fields["depth"], above + 1);
  depths.set(id, depth);
  return { id, parentId, depth, priority: checkPriority(`snapshot.${at}.priority`, fields["priority"]) };
}

function readPlace(at: string, json: unknown, unseen: Set<AgentId>): WaitingState {
  const fields = checkFields(`snapshot.${at}`, json, ["id", "as", "since"]);
  const id = checkAgentId(`snapshot.${at}.id`, fields["id"]);
  if (!unseen.delete(id)) throw invalid(`${at}.id`, id, "one of the agents, each only once");
  return {
    id,
    as: checkOneOf(`snapshot.${at}.as`, fields["as"], KINDS),
    since: checkTime(`${at}.since`, fields["since"]),
  };
}

function refuseImpossible({ budget, agents, waiting, total }: RosterState): void {
  const held = agents.length + 1 - waiting.length;
  if (held > budget.maxAgents || (waiting.length > 0 && held < budget.maxAgents)) {
    const expected = `at most ${budget.maxAgents} agents with a slot, and no fewer while others wait (here: ${held})`;
    throw invalid("waiting", waiting, expected);
  }
  if (budget.maxTotal !== null && total > budget.maxTotal) {
    throw invalid("total", total, `at most the budget's maxTotal, ${budget.maxTotal}`);
  }
}

function list(field: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalid(field, value, "an array");
}

function checkTime(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw invalid(field, value, "a time in epoch milliseconds");
}

function invalid(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: `snapshot.${field}`, value, expected });
}
