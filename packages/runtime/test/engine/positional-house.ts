import {
  addUsage,
  type Agent,
  AgentNotFoundError,
  agentName,
  ExecId,
  type HireOutcome,
  InvalidValueError,
  type Ledger,
  NO_USAGE,
  type RaviError,
  type RootHandle,
  type RunSummary,
  type RunEvent,
  type RunId,
  type RunResult,
  type RunStatus,
  Supervision,
} from "@ravi/kernel";
import { exceededIn, readAgain } from "@ravi/kernel/loop";
import { wallClock } from "@ravi/runtime";
import type { RuntimeHouse, RuntimeSetup, RuntimeUnderTest } from "@ravi/testing/suites";
import { World } from "./world.ts";

interface Known {
  readonly world: World;
  readonly agent: string;
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly root: Supervision;
  readonly ledger: Ledger | undefined;
  readonly whose: Pick<RunSummary, "sessionId" | "tenantId" | "userId">;
}

/** Runtimes on engines that record by position: one world for each run, which outlives whoever works in it. */
export function positionalHouse(): RuntimeHouse {
  const runs = new Map<string, Known>();
  const closed = new Set<RuntimeUnderTest>();
  return {
    create: (setup) => new PositionalRuntime(setup, runs, closed),
    crash(runtime) {
      closed.add(runtime);
      for (const { world } of runs.values()) world.kill();
    },
    close() {
      for (const { world } of runs.values()) world.kill();
    },
  };
}

class PositionalRuntime implements RuntimeUnderTest {
  private readonly setup: RuntimeSetup;
  private readonly runs: Map<string, Known>;
  private readonly closed: Set<RuntimeUnderTest>;
  private readonly agents = new Map<string, Agent>();
  private readonly suspend = Promise.withResolvers<"closed">();

  constructor(setup: RuntimeSetup, runs: Map<string, Known>, closed: Set<RuntimeUnderTest>) {
    this.setup = setup;
    this.runs = runs;
    this.closed = closed;
    for (const agent of setup.agents) this.agents.set(nameOf(agent), agent);
  }

  run(agent: Agent, input: string, options: Parameters<RuntimeUnderTest["run"]>[2] = {}): RootHandle {
    const { attachments, tenantId, userId, ...rest } = options;
    const root = Supervision.root(agent.id, rest);
    const { setup } = this;
    const { hooks, meter } = setup;
    const ledger = setup.ledger?.(root);
    const world = new World({
      clock: wallClock,
      decide: "ask",
      headcount: setup.headcount?.(root),
      ledger,
      ports: { ...(hooks !== undefined && { hooks }), ...(meter !== undefined && { meter }) },
    });
    const { runId, sessionId } = root;
    const whose = { sessionId, tenantId, userId };
    const known: Known = { world, agent: nameOf(agent), runId, execId: ExecId(runId), root, ledger, whose };
    this.runs.set(runId, known);
    return this.handle(known, world.run(agent, input, root, attachments));
  }

  resume(runId: string, { decisions = {} }: Parameters<RuntimeUnderTest["resume"]>[1] = {}): RootHandle {
    const known = this.runs.get(runId);
    if (known === undefined) {
      throw new InvalidValueError({
        field: "runId",
        value: runId,
        expected: "the id of a run in the journal",
      });
    }
    const { world, execId, agent: name } = known;
    for (const [key, decision] of Object.entries(decisions)) world.decisions.set(key, decision);
    const execution = world.of(execId);
    if (execution.outcome === undefined) {
      const agent = this.agents.get(name);
      if (agent === undefined) throw new AgentNotFoundError({ agent: name, known: [...this.agents.keys()] });
      execution.start = { ...execution.start, agent };
      world.kill();
      world.restart();
    }
    return this.handle(known, world.whenDone(execId));
  }

  async deliver(...[runId, name, value, how]: Parameters<RuntimeUnderTest["deliver"]>): Promise<void> {
    this.runs.get(runId)?.world.deliver(name, value, how?.id);
  }

  async cancel(runId: string, reason: string): Promise<void> {
    const known = this.runs.get(runId);
    known?.world.cancel(known.execId, reason);
  }

  list() {
    return [...this.runs.values()].map((known) => {
      const { world, agent, runId, execId, whose } = known;
      const { startedAt, entries } = world.of(execId);
      return {
        runId,
        agent,
        status: statusOf(known),
        startedAt,
        updatedAt: startedAt,
        entries: entries.length,
        ...whose,
      };
    });
  }

  async delete(runId: string): Promise<void> {
    this.runs.delete(runId);
  }

  async close({ drain = false }: Parameters<RuntimeUnderTest["close"]>[0] = {}): Promise<void> {
    if (this.closed.has(this)) return;
    this.closed.add(this);
    if (drain) await Promise.all([...this.runs.values()].map(({ world, execId }) => world.whenDone(execId)));
    for (const { world } of this.runs.values()) world.kill();
    this.suspend.resolve("closed");
  }

  private handle(known: Known, done: Promise<HireOutcome | RaviError>): RootHandle {
    const { world, runId, execId } = known;
    const status = (): RunStatus => statusOf(known);
    const ended = Promise.race([done, this.suspend.promise]);
    return {
      runId,
      execId,
      agentId: world.of(execId).start.supervision.agentId,
      get status() {
        return status();
      },
      cancel: (reason) => world.cancel(execId, reason),
      result: ended.then((end) => resultOf(known, end)),
      events: () => follow(world, ended),
    };
  }
}

async function* follow(world: World, ended: Promise<unknown>): AsyncGenerator<RunEvent> {
  const state = { isOver: false };
  void ended.then(() => {
    state.isOver = true;
    world.notify();
  });
  for (let at = 0; ; at++) {
    const event = await world.until(() => world.events[at] ?? (state.isOver ? null : undefined));
    if (event === null) return;
    yield event;
  }
}

function nameOf({ id, version = "1" }: Agent): string {
  return `${agentName(id)}@${version}`;
}

function statusOf({ world, execId }: Known): RunStatus {
  const { outcome, parked } = world.of(execId);
  if (outcome === undefined) return parked !== undefined || world.waiting > 0 ? "suspended" : "running";
  const { status } = JSON.parse(outcome) as { status: RunStatus | "paused" };
  return status === "paused" ? "partial" : status;
}

function resultOf(
  { world, runId, execId, root, ledger }: Known,
  end: HireOutcome | RaviError | "closed",
): RunResult {
  const usage = [...world.executions.values()].reduce((sum, { used }) => addUsage(sum, used), NO_USAGE);
  const exceeded = ledger && exceededIn(ledger.used, root, root.agentId);
  const common = { runId, usage, cost: null, inDoubt: [...world.inDoubt], output: "", exceeded };
  if (end === "closed") return { ...common, status: "suspended" };
  if (!("status" in end)) return { ...common, status: "suspended", error: end };
  if ("result" in end) {
    const { output, structured, stopReason, problem } = end.result;
    return {
      ...common,
      status: end.status === "completed" ? "completed" : "partial",
      output,
      structured: readAgain({ output, structured }, world.of(execId).start.agent.output).structured,
      stopReason,
      problem,
    };
  }
  const error = "error" in end ? end.error : undefined;
  return { ...common, status: end.status === "cancelled" ? "cancelled" : "failed", error };
}
