import {
  type Agent,
  type AgentId,
  agentName,
  ExecId,
  type HireLeaf,
  type HireOutcome,
  type HireSpec,
  InvalidValueError,
  type MaybePromise,
  MiddlewareTermination,
  type RaviError,
  type Supervision,
} from "@ravi/kernel";
import {
  admitRun,
  checkHireChoices,
  checkHireSpelling,
  hiredId,
  ownAttachments,
  refuseLimits,
  scopeForWorker,
  tighterBudget,
  versionName,
} from "@ravi/kernel/loop";
import { NOTHING_USED } from "../engine/hire-record.ts";
import { withAgentLedger } from "../tree/ledgers.ts";
import { andThen } from "../promises/and-then.ts";
import type { Execution } from "./execution.ts";
import { Digest, nameOfText } from "./digest.ts";
import { denialOf } from "./permission.ts";
import { mayAdmit, type Plan, planFor } from "./plan.ts";

/** What an agent gives to hire another: the agent, its input, and options such as budget and priority. */
export type Terms<T = unknown> = Omit<HireLeaf<T>, "kind">;

/** A hire that was checked and admitted. */
export interface PreparedHire {
  readonly spec: HireSpec;
  /** The outcome, if a layer around the agent answered for it. Then nobody is hired. */
  readonly answered: HireOutcome | undefined;
}

/**
 * Checks a hire and makes its spec for the engine. Its key and number are taken synchronously, whatever it then waits for, so that a replay
 * gives it the same ones.
 */
export function prepareHire(exec: Execution, terms: Terms, isJoinable: boolean): MaybePromise<PreparedHire> {
  const { agent } = terms;
  if (typeof terms.input !== "string") {
    const expected = "a string; serialize an object with JSON.stringify";
    throw new InvalidValueError({ field: "hire.input", value: terms.input, expected });
  }
  checkHireSpelling(terms);
  checkHireChoices("hire", terms);
  const timeoutMs = milliseconds("hire.timeoutS", terms.timeoutS);
  const attachments = ownAttachments("hire.attachments", terms.attachments);
  const key = exec.nextKey("hire", agentName(agent.id));
  const agentId = hiredId(exec.agentId, agent.id, ++exec.hires);
  const plan = planFor(agent, exec.ports);
  // Most agents have no layer with an `admit`, and then nothing is allocated for one.
  if (mayAdmit(plan.agent))
    return admitted(exec, terms, plan, { key, agentId, timeoutMs, isJoinable, attachments });
  const spec = new Hire(exec, terms, terms.input, { key, agentId, timeoutMs, isJoinable, attachments });
  return { spec, answered: undefined };
}

/** Calls the `admit` of the layers around the agent, which may change the input or answer for the agent. */
function admitted(
  exec: Execution,
  terms: Terms,
  { agent, hooks }: Plan,
  settled: Settled,
): MaybePromise<PreparedHire> {
  const { ports, supervision, meta } = exec;
  const { runId, sessionId } = supervision;
  const whom = { agentId: terms.agent.id, runId, sessionId };
  const layers = agent === undefined ? [] : [agent];
  const { attachments } = settled;
  const scope = scopeForWorker({ ...exec.scope, sessionId }, settled.agentId);
  return andThen(
    admitRun({ layers, whom, input: terms.input, attachments, meta, scope, hooks, clock: ports.clock }),
    ({ input, refused }) => {
      const spec = new Hire(exec, terms, input, settled);
      if (refused === undefined) return { spec, answered: undefined };
      const answered: HireOutcome = { status: refused.status, result: refused, ...NOTHING_USED };
      if (settled.isJoinable) (exec.answered ??= new Map()).set(spec.execId, answered);
      return { spec, answered };
    },
  );
}

type Settled = Pick<HireSpec, "key" | "agentId" | "timeoutMs" | "isJoinable" | "attachments">;

class Hire implements HireSpec {
  readonly kind = "hire";
  readonly key: string;
  readonly execId: ExecId;
  readonly agent: Agent;
  readonly agentName: string;
  readonly agentId: AgentId;
  readonly priority: HireSpec["priority"];
  readonly input: string;
  readonly attachments: HireSpec["attachments"];
  readonly fingerprint: string;
  readonly budget: HireSpec["budget"];
  readonly timeoutMs: number | undefined;
  readonly onTimeout: HireSpec["onTimeout"];
  readonly onPreempt: HireSpec["onPreempt"];
  readonly onFull: HireSpec["onFull"];
  readonly isJoinable: boolean;
  private readonly exec: Execution;
  private readonly retention: Terms["retention"];

  constructor(
    exec: Execution,
    terms: Terms,
    input: string,
    { key, agentId, timeoutMs, isJoinable, attachments }: Settled,
  ) {
    const { agent } = terms;
    this.exec = exec;
    this.key = key;
    this.execId = ExecId(exec.execId, key);
    this.agent = agent;
    this.agentName = versionName(agent);
    this.agentId = agentId;
    this.priority = terms.priority;
    this.input = input;
    this.attachments = attachments;
    // Only needed to compare it with a record.
    this.fingerprint = exec.engine.isDurable ? nameOfHire(this.agentName, input, attachments) : "";
    this.budget = tighterBudget(agent, terms.executionBudget);
    const isKept = exec.engine.isMetered || withAgentLedger(agent, undefined) !== undefined;
    if (this.budget !== undefined && !isKept) refuseLimits("hire", this.budget);
    this.timeoutMs = timeoutMs;
    this.onTimeout = terms.onTimeout ?? "cancel";
    this.onPreempt = terms.onPreempt ?? "park";
    this.onFull = terms.onFull ?? "deny";
    this.isJoinable = isJoinable;
    this.retention = terms.retention;
  }

  get span(): HireSpec["span"] {
    return this.exec.span;
  }

  supervision(): Supervision {
    const { agentId, retention, priority, budget } = this;
    return this.exec.supervision.spawnChild({ agentId, retention, priority, executionBudget: budget });
  }

  denial(): MaybePromise<RaviError | undefined> {
    // By its name, as rules name agents: one that denies "payer" must deny every version of it.
    const { id, version = "1" } = this.agent;
    return andThen(denialOf(this.exec, "hire", agentName(id), this.input, version), refusalFor);
  }
}

function nameOfHire(agent: string, input: string, attachments: HireSpec["attachments"]): string {
  const text = `${agent}\n${input}`;
  return attachments === undefined ? nameOfText(text) : new Digest().text(text).value(attachments).name();
}

function refusalFor(reason: string | undefined): RaviError | undefined {
  return reason === undefined ? undefined : new MiddlewareTermination({ layer: "permissions", reason });
}

/** Seconds as milliseconds; undefined stays undefined. Throws an `InvalidValueError` unless they are a finite number above 0. */
export function milliseconds(field: string, seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw new InvalidValueError({ field, value: seconds, expected: "a number of seconds above 0" });
}
