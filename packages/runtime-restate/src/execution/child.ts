import { RestatePromise } from "@restatedev/restate-sdk";
import {
  type ExecId,
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  type JsonObject,
  NO_USAGE,
  type RunHandle,
  type SchemaLike,
  type Settled,
} from "@ravi/kernel";
import { readOutcome } from "@ravi/kernel/loop";
import { json } from "../json.ts";
import { outcomeFromJSON, outcomeToJSON } from "../outcome.ts";
import type { Attempt } from "./attempt.ts";
import type { Seat } from "./hiring.ts";
import type { Step } from "./kept/steps.ts";
import type { Lane } from "./lane.ts";
import { extending } from "./standstill.ts";
import { awaiting, type Steps } from "./steps.ts";

/** For a child that was never hired. */
const NOTHING_USED: HireUsage = Object.freeze({ usage: NO_USAGE, costUsd: 0 });

/** The whole run of a child, after its seat was requested. */
export function* childOf(
  attempt: Attempt,
  driver: Lane,
  lane: number,
  spec: HireSpec,
  seat: Seat | undefined,
): Steps<HireOutcome> {
  if (seat?.denied !== undefined) return { status: "denied", error: seat.denied, ...NOTHING_USED };
  if (seat?.over === undefined) throw new TypeError(`${spec.key} was neither granted nor denied a slot`);
  const over = seat.over.map((outcome) => ({ outcome: outcome ?? {} }));
  const { output } = spec.agent;
  let { late } = seat;
  let knownMs = 0;
  for (;;) {
    const timer = late?.map(() => ({ outcome: undefined }));
    const first = yield* awaiting(timer === undefined ? over : RestatePromise.race([over, timer]), {
      cut: true,
    });
    if (first.outcome !== undefined) return outcomeAt(attempt, first.outcome, output);
    const extended = yield* extending(attempt, lane, spec.execId, knownMs, over);
    if ("over" in extended) return outcomeAt(attempt, extended.over.outcome, output);
    const { moreMs, stillMs, used } = extended;
    if (moreMs !== undefined) {
      late = attempt.context.sleep(moreMs, spec.key);
      knownMs = stillMs;
      continue;
    }
    if (spec.onTimeout === "leave") {
      return { status: "timedOut", handle: handleOf(attempt, driver, spec), ...used };
    }
    late = undefined;
    const stopped = { reason: "", deadline: seat.deadline + stillMs };
    attempt.send("stop", { at: attempt.standing.at, execId: spec.execId, stopped });
  }
}

/** Waits for the end of a child. */
export function* joining(attempt: Attempt, lane: number, child: ExecId): Steps<HireOutcome> {
  attempt.flush(lane);
  const over = attempt.context.awakeable<JsonObject>(json());
  attempt.send("join", { ...attempt.from(lane), child, over: over.id });
  const outcome = yield* awaiting(attempt.answered(over.promise), { cut: true });
  return outcomeAt(attempt, outcome, attempt.children.get(child));
}

/** What a hire asks for, as it is kept. */
export function askedOfHire({ key, fingerprint }: HireSpec): string {
  return `hire ${key} ${fingerprint}`;
}

/** What is kept of a hire. */
export function keptOfHire(attempt: Attempt, { execId, key }: HireSpec, outcome: HireOutcome): Step {
  const { usage, costUsd } = outcome;
  const told = bodies.get(outcome) ?? {
    ...outcomeToJSON(outcome),
    ...(usage !== undefined && { usage: { ...usage }, costUsd: costUsd ?? null }),
  };
  const hiredAt = attempt.hiredAt.get(key) ?? attempt.standing.at;
  return { kind: "hire", child: execId, outcome: told, tookMs: Math.max(0, attempt.standing.at - hiredAt) };
}

/** A hire that an earlier invocation of the execution has made. */
export function recalledHire(attempt: Attempt, driver: Lane, spec: HireSpec, step: Step): Settled {
  if (step.kind !== "hire") throw new TypeError(`${spec.key} was recorded as a ${step.kind}`);
  const { outcome } = step;
  const { status } = outcome;
  if (status !== "denied") knowChild(attempt, spec);
  if (status !== "timedOut") return { ok: true, value: readBody(outcome, spec.agent.output) };
  const { usage = NO_USAGE, costUsd } = outcome as JsonObject & HireUsage;
  return { ok: true, value: { status, handle: handleOf(attempt, driver, spec), usage, costUsd } };
}

/** Notes a child that an earlier invocation of the execution has hired. */
export function knowChild(attempt: Attempt, { agent, execId }: HireSpec): void {
  attempt.register(agent);
  attempt.hired++;
  attempt.children.set(execId, agent.output);
}

/** The bodies that outcomes were read from: a structured result may have another form by then. */
const bodies = new WeakMap<HireOutcome, JsonObject>();

/** The body of the outcome of a child that was joined. */
export function bodyOf(outcome: HireOutcome): JsonObject {
  return bodies.get(outcome) ?? outcomeToJSON(outcome);
}

export function readBody(body: JsonObject, output: SchemaLike | undefined): HireOutcome {
  const outcome = readOutcome(outcomeFromJSON(body), output);
  bodies.set(outcome, body);
  return outcome;
}

/** A child's outcome has the time of its end. If that is after the deadline of the waiting parent, the parent is stopped too. */
function outcomeAt(attempt: Attempt, outcome: JsonObject, output: SchemaLike | undefined): HireOutcome {
  const { at } = outcome;
  if (typeof at === "number") attempt.learnTime(Math.max(at, attempt.standing.at));
  return readBody(outcome, output);
}

/** After the agent has ended: waits until all its children have. */
export function* ending(attempt: Attempt, lane: number): Steps<void> {
  const over = attempt.context.awakeable<null>(json());
  const asked = attempt.call("end", { ...attempt.from(lane), awakeable: over.id });
  const { alone } = yield* awaiting(asked, { cut: false });
  if (!alone) yield* awaiting(over.promise, { cut: false });
}

/** The handle of a child. */
export function handleOf(
  attempt: Attempt,
  lane: Lane,
  { execId, agentId }: Pick<HireSpec, "execId" | "agentId">,
): RunHandle {
  return {
    runId: attempt.start.supervision.runId,
    execId,
    agentId,
    status: "running",
    cancel: (reason) => {
      // It was cancelled before.
      if (attempt.recall?.isSilent === true) return;
      const message = { at: attempt.standing.at, execId, stopped: { reason } };
      // Inside a call only the channel can be used. Between calls the message must be an entry of the journal.
      if (!lane.isBusy) attempt.send("stop", message);
      else void attempt.channel.tell("stop", message, attempt.isOver).catch(() => {});
    },
  };
}
