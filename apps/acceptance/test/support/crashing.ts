import { type Agent, type JournalRecord, type JsonValue, RunId, type RunResult } from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { MemoryJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { type VirtualClock, virtualClock } from "@ravi/testing";
import { cutJournal } from "../../src/cut-journal.ts";
import { governed } from "../../src/leading.ts";

// One shape of a run, taken through a crash after each entry of its journal.

export interface Shape {
  /** A fresh definition, as another process has it. */
  readonly make: () => Agent;
  readonly start?: object;
  /** Answers that are there before anybody asks. */
  readonly answers?: readonly (readonly [name: string, value: JsonValue])[];
}

export interface Gone {
  readonly result: RunResult | undefined;
  readonly records: readonly JournalRecord[];
  /** LLM calls that were really made, by execution and key. */
  readonly paid: readonly string[];
  readonly held: number;
  readonly pending: number;
}

const RUN = "r";

/** Runs a shape from its beginning, or from what a crash has left. Undefined where it does not end. */
export async function go(shape: Shape, left?: readonly JournalRecord[], now = 0): Promise<Gone> {
  const clock = virtualClock({ now });
  const journal = left === undefined ? new MemoryJournal() : cutJournal(RUN, left);
  const hooks = new HookManager();
  const paid: string[] = [];
  hooks.on(HookEvent.LLM_START, ({ execId, key, replayed }) => {
    if (replayed !== true) paid.push(`${execId}:${key}`);
  });
  let seats: SpawnTracker | undefined;
  const root = shape.make();
  const runtime = governed({
    journal,
    clock,
    hooks,
    agents: [root],
    headcount: (of) => (seats = new SpawnTracker(of.spawnBudget, { rootId: of.rootId })),
  });
  const handle =
    left === undefined ? runtime.run(root, "go", { runId: RUN, ...shape.start }) : runtime.resume(RUN);
  const known = new Set((left ?? []).map(({ key }) => key));
  for (const [name, value] of shape.answers ?? [])
    if (![...known].some((key) => key.startsWith(`wait:${name}#`))) await runtime.deliver(RUN, name, value);
  const result = await inTime(clock, handle.result);
  return { result, records: journal.load(RunId(RUN)), paid, held: seats?.held ?? 1, pending: clock.pending };
}

/** Time passes until it is over, or for two hours. */
async function inTime(clock: VirtualClock, running: Promise<RunResult>): Promise<RunResult | undefined> {
  const state = { isOver: false };
  const ended = running.finally(() => (state.isOver = true));
  ended.catch(() => {});
  for (let minutes = 0; minutes < 120 && !state.isOver; minutes++)
    await clock.advance(minutes === 0 ? 0 : 60_000);
  return state.isOver ? ended : undefined;
}

/** What must be the same, however often it crashed. */
export function gist(result: RunResult | undefined): object | undefined {
  if (result === undefined) return undefined;
  const { status, output, stopReason, agents = [] } = result;
  const team = agents.map(
    (one) => `${one.execId} ${one.agentId} ${one.parent} ${one.status} ${one.priority}`,
  );
  return { status, output, stopReason, team: team.toSorted() };
}
