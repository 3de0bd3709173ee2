import {
  type Agent,
  AgentId,
  type AgentResult,
  type Attachment,
  defineTool,
  type Headcount,
  type HireLeaf,
  type HireOutcome,
  type Hooks,
  type JsonValue,
  type Ledger,
  type MaybePromise,
  type Meter,
  type ModelRequest,
  type Outcome,
  type Pipelines,
  type RestartPolicy,
  type RootHandle,
  type RunEvent,
  type RunReport,
  type RunSummary,
  type StandardSchema,
  type Supervision,
  type Tool,
} from "@ravi/kernel";
import type { SuiteCase } from "../case.ts";
import type { EventListener, RunStartOptions } from "@ravi/kernel/loop";

/** What a runtime is created with. */
export interface RuntimeSetup {
  /** The agents that a resume may look up. */
  readonly agents: readonly Agent[];
  readonly headcount?: ((root: Supervision) => Headcount) | undefined;
  readonly ledger?: ((root: Supervision) => Ledger) | undefined;
  readonly meter?: Meter | undefined;
  readonly hooks?: Hooks | undefined;
  readonly pipelines?: Pipelines | undefined;
  readonly restart?: RestartPolicy | undefined;
}

/**
 * What not every runtime can do. `restart`: restart a root whose own code threw. `layers`: run the layers around a root before
 * its input is recorded. `checks`: check what the caller asks for, including signals and decisions, and report in the result
 * which limits applied. `waits`: say in the list what a run waits for, and refuse what is delivered to a run that has ended. `reasons`:
 * say in the list why a run has failed, is suspended or was cancelled. `record`: give what is on record of a run as events. `inspect`: report on a run. `onEvent`: call a listener with each event. `prune`: delete what
 * ended long ago. `send`: give an agent at work a message, which it may notice by `hasMail` of its inbox. `retryFailed`: continue a run that
 * has failed. These are features of Ravi's own
 * runtime, so a bare engine lacks them.
 */
export type RuntimeAbility =
  | "restart"
  | "layers"
  | "checks"
  | "waits"
  | "reasons"
  | "record"
  | "inspect"
  | "onEvent"
  | "prune"
  | "send"
  | "retryFailed";

export type SuiteRunOptions = Pick<
  RunStartOptions,
  | "runId"
  | "sessionId"
  | "tenantId"
  | "userId"
  | "attachments"
  | "spawnBudget"
  | "executionBudget"
  | "priority"
  | "signal"
> & { readonly onEvent?: EventListener | undefined };

/** The part of a runtime that the suite uses. */
export interface RuntimeUnderTest {
  run(agent: Agent, input: string, options?: SuiteRunOptions): RootHandle;
  resume(
    runId: string,
    options?: {
      readonly decisions?: Readonly<Record<string, "retry" | "skip" | "fail">>;
      /** Needed for the ability `retryFailed`. */
      readonly retryFailed?: boolean | undefined;
      readonly onEvent?: EventListener | undefined;
    },
  ): RootHandle;
  deliver(
    runId: string,
    name: string,
    value: JsonValue,
    options?: {
      readonly id?: string | undefined;
      readonly mustExist?: boolean | undefined;
      readonly mustWait?: boolean | undefined;
    },
  ): Promise<void>;
  /** Needed for the ability `send`. */
  send?(
    runId: string,
    message: JsonValue,
    options?: {
      readonly to?: string | undefined;
      readonly from?: string | undefined;
      readonly id?: string | undefined;
      readonly attachments?: readonly Attachment[] | undefined;
    },
  ): Promise<void>;
  cancel(runId: string, reason: string): Promise<void>;
  list(): MaybePromise<readonly RunSummary[]>;
  delete(runId: string): Promise<void>;
  /** Needed for the ability `record`. */
  recordedEvents?(runId: string): Promise<readonly RunEvent[]>;
  /** Needed for the ability `inspect`. */
  inspect?(runId: string): Promise<RunReport>;
  /** Needed for the ability `prune`. */
  prune?(options: { readonly olderThanMs: number }): Promise<readonly string[]>;
  close(options?: { readonly drain?: boolean }): Promise<void>;
}

/** Where the runtimes of one case live. They share what survives a process. */
export interface RuntimeHouse {
  create(setup: RuntimeSetup): MaybePromise<RuntimeUnderTest>;
  /** Like `kill -9` of the process: it writes nothing more. A runtime that is created afterwards finds what was written before. */
  crash(runtime: RuntimeUnderTest): MaybePromise<void>;
  close(): MaybePromise<void>;
}

/** The limits that runtimes of the suite are given. */
export interface RuntimeCaps {
  readonly headcount: (root: Supervision) => Headcount;
  readonly ledger: (root: Supervision) => Ledger;
  /** A meter that has prices for the suite's models, so that every call costs something. */
  readonly meter?: Meter | undefined;
}

/** What a case works with. */
export interface RuntimeStage {
  readonly caps: RuntimeCaps;
  readonly create: (setup: RuntimeSetup) => Promise<RuntimeUnderTest>;
  readonly crash: (runtime: RuntimeUnderTest) => Promise<void>;
}

/** One test case. */
export type RuntimeCase = SuiteCase<RuntimeStage, RuntimeAbility>;

export function agent(name: string, run: Agent["run"], more: Partial<Agent> = {}): Agent {
  return { id: AgentId(name), run, ...more };
}

export function done(output: string): AgentResult {
  return { status: "completed", output, stopReason: "done" };
}

/** A delivered value as text, for an output. */
export function word(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function say(text: string): ModelRequest {
  return { messages: [{ role: "user", content: text }], maxOutputTokens: 10 };
}

export function outputOf(outcome: Outcome | HireOutcome): string {
  if ("result" in outcome) return "output" in outcome.result ? outcome.result.output : "a result";
  return outcome.status;
}

const MOST_CALLS = 100;

/** For agents that spend until a limit stops them: if none does, the case fails before the memory is full. */
export function refuseWithoutEnd(calls: number): void {
  if (calls > MOST_CALLS) throw new Error(`${calls} calls were made: the cap on turns does not hold`);
}

/** Waits for a condition, however long that takes. */
export async function until(condition: () => MaybePromise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Waits until a run waits for something or is over, so that what it waits for can be found. */
export async function untilWaiting(handle: RootHandle): Promise<void> {
  handle.result.catch(() => {});
  await until(() => handle.status !== "pending" && handle.status !== "running");
}

/** A schema that accepts everything. */
const ANYTHING: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "ravi",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

/** A tool that takes anything. */
export function tool(name: string, execute: Tool["execute"], more: Partial<Tool> = {}): Tool {
  return defineTool({ name, description: name, input: ANYTHING, execute, ...more });
}

/** One hire of the agent for each input. */
export function hires(of: Agent, inputs: readonly string[]): HireLeaf[] {
  return inputs.map((input) => ({ kind: "hire", agent: of, input }));
}

/** A tool that hangs at its first call, so that a crash finds it in flight. */
export function hangingOnce(
  name: string,
  idempotent: boolean,
): { readonly tool: Tool; readonly calls: () => number } {
  let calls = 0;
  const hanging = tool(name, () => (++calls === 1 ? new Promise<string>(() => {}) : `${name} ${calls}`), {
    idempotent,
  });
  return { tool: hanging, calls: () => calls };
}

export function call(name: string): { id: string; name: string; arguments: string } {
  return { id: "c1", name, arguments: "{}" };
}
