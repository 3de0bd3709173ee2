import {
  type Agent,
  AgentId,
  agentName,
  ExecId,
  type HireLeaf,
  type HireOutcome,
  type HireSpec,
  InvalidValueError,
  MiddlewareTermination,
} from "@ravi/kernel";
import { NOTHING_USED } from "../engine/hire-record.ts";
import { tighterBudget } from "../tree/ledgers.ts";
import { admitRun } from "./admit-run.ts";
import type { Execution } from "./execution.ts";
import { digest } from "./fingerprint.ts";
import { denialOf } from "./permission.ts";
import { planFor } from "./plan.ts";

export type Terms<T = unknown> = Omit<HireLeaf<T>, "kind">;

export interface PreparedHire {
  readonly spec: HireSpec;
  /** A layer around the agent answered for it: nobody is hired. */
  readonly answered: HireOutcome | undefined;
}

/** A hire as its engine gets it. Its place among the hires is taken here, whatever it then waits for. */
export async function prepareHire(exec: Execution, terms: Terms, isJoinable: boolean): Promise<PreparedHire> {
  const { agent, priority, timeoutS } = terms;
  const timeoutMs = milliseconds("hire.timeoutS", timeoutS);
  const key = exec.nextKey("hire", agentName(agent.id));
  const agentId = childId(exec, agent, ++exec.hires);
  const execId = ExecId(exec.execId, key);
  const { runId, sessionId } = exec.supervision;
  const { input, refused } = await admitRun(
    planFor(agent, exec.ports),
    exec.ports,
    exec.meta,
    { agentId: agent.id, runId, sessionId },
    terms.input,
  );
  const budget = tighterBudget(agent, terms.executionBudget);
  const name = nameOf(agent);
  const spec: HireSpec = {
    kind: "hire",
    key,
    execId,
    agent,
    agentName: name,
    agentId,
    priority,
    input,
    // Only a record is compared with it.
    fingerprint: exec.engine.isDurable ? digest(`${name}\n${input}`) : "",
    budget,
    timeoutMs,
    onTimeout: terms.onTimeout ?? "cancel",
    onPreempt: terms.onPreempt ?? "park",
    onFull: terms.onFull ?? "deny",
    isJoinable,
    supervision: () =>
      exec.supervision.spawnChild({ agentId, retention: terms.retention, priority, executionBudget: budget }),
    denial: async () => {
      const reason = await denialOf(exec, "hire", name, input);
      return reason === undefined ? undefined : new MiddlewareTermination({ layer: "permissions", reason });
    },
  };
  const answered =
    refused === undefined
      ? undefined
      : ({ status: refused.status, result: refused, ...NOTHING_USED } as const);
  if (answered !== undefined && isJoinable) (exec.answered ??= new Map()).set(execId, answered);
  return { spec, answered };
}

export function nameOf(agent: Agent): string {
  return `${agentName(agent.id)}@${agent.version ?? "1"}`;
}

export function milliseconds(field: string, seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw new InvalidValueError({ field, value: seconds, expected: "seconds above 0" });
}

/** The numbers of all hires on the way down: no two agents of a tree have the same. */
function childId({ agentId }: Execution, agent: Agent, number: number): AgentId {
  const slash = agentId.indexOf("/");
  const path = slash === -1 ? String(number) : `${agentId.slice(slash + 1)}.${number}`;
  return AgentId(agentName(agent.id), path);
}
