import {
  type AgentEvent,
  type Effect,
  errorFromJSON,
  errorToJSON,
  type JsonObject,
  NeedsDecisionError,
  isRaviError,
  NO_USAGE,
  PausedError,
  type SerializedError,
  type Settled,
} from "@ravi/kernel";
import { argumentsText, type Decision, listedQuestion } from "@ravi/kernel/loop";
import { json } from "../json.ts";
import type { Paid } from "./account.ts";
import { fetchStored, type Stored } from "./bodies.ts";
import type { Attempt } from "./attempt.ts";
import { pausing } from "./pause.ts";
import { pay, type Recorded } from "./payment.ts";
import { type CallEntry, entryOfCall, eventsOfCall } from "./record.ts";
import { awaiting, type Steps } from "./steps.ts";
import { reportWarnings } from "./dispatch.ts";
import type { AdmissionTurn } from "./admission-order.ts";
import type { Step } from "./kept/steps.ts";

const ONE_TOOL_CALL: readonly Paid[] = Object.freeze([{ usage: NO_USAGE, costUsd: 0, toolCalls: 1 }]);

/** The result of a call: its record and whether this attempt made it; or `skipped`, if somebody decided to leave the call out. */
export type CallResult =
  | { readonly recorded: Recorded; readonly isFresh: boolean }
  | { readonly skipped: true };

/** Makes one call. It repeats until the call is made, since it may have to wait for a seat or a decision first. */
export function* paying(
  attempt: Attempt,
  lane: number,
  effect: Effect,
  turn: AdmissionTurn,
): Steps<CallResult> {
  const { context, start, token } = attempt;
  const { execId } = start;
  const fingerprint = effect.fingerprint();
  const again = attempt.recall?.again(askedOfCall(effect));
  if (again !== undefined) attempt.used.addFailed(again.paid);
  const wasCutOff = again?.isCutOff === true;
  if (wasCutOff && effect.onDoubt === "ask") {
    // The calls beside it do not wait for that.
    turn.pass();
    const decided = yield* unlessMade(attempt, lane, effect);
    if (decided !== undefined) return decided;
  }
  for (;;) {
    const settle = attempt.unsettled;
    attempt.unsettled = [];
    let isFresh = false;
    const closure = async (): Promise<Recorded> => {
      isFresh = true;
      const recorded = await pay({
        effect,
        fingerprint,
        from: attempt.from(lane),
        settle,
        isMetered: attempt.standing.isMetered,
        channel: attempt.channel,
        clock: attempt.ports.clock,
        ids: attempt.ports.ids,
        blobs: attempt.blobs,
        token,
        turn,
        attemptOver: attempt.isOver,
        warn: (warnings) => reportWarnings(attempt, warnings),
        triedBefore: again?.attempts ?? 0,
      });
      return { ...recorded, recordSent: attempt.recordSent };
    };
    const recorded = yield* awaiting(context.run(effect.kind, closure, { serde: json<Recorded>() }), {
      cut: false,
    });
    turn.pass();
    checkSameRequest(attempt, effect, fingerprint, recorded);
    attempt.learn(recorded);
    attempt.learnSent(recorded.recordSent);
    if (recorded.verdict === "done") {
      attempt.unsettled = [...attempt.unsettled, ...recorded.settle];
      // It may have been made twice.
      if (wasCutOff) attempt.unsettled = [...attempt.unsettled, { left: `${execId}:${effect.key}` }];
      attempt.used.add(recorded.paid, recorded.attempt);
      return { recorded, isFresh };
    }
    if (recorded.verdict === "stopped") {
      attempt.applyStop(recorded);
      token.check();
    }
    if (recorded.verdict === "stale")
      throw attempt.suspend(new Error(`${execId} continues in a newer attempt`));
    if (recorded.verdict === "doubt") {
      const decided = yield* unlessMade(attempt, lane, effect);
      if (decided !== undefined) return decided;
      continue;
    }
    if (start.onPreempt === "return") throw new PausedError({ agentId: start.supervision.agentId });
    yield* pausing(attempt, lane);
  }
}

/** What came of a call in doubt if somebody has decided that it is not made again; undefined if it is. */
function* unlessMade(attempt: Attempt, lane: number, effect: Effect): Steps<CallResult | undefined> {
  const decision = yield* deciding(attempt, lane, effect);
  if (decision === "retry") return undefined;
  // The call was begun and stays charged. Only a call that is made again counts by what it then uses.
  if (effect.kind === "tool") attempt.used.add(ONE_TOOL_CALL, 1);
  if (decision === "skip" && effect.skipped !== undefined) return { skipped: true };
  const { key, what } = effect;
  throw new NeedsDecisionError({ execId: attempt.start.execId, key, what, decided: "fail" });
}

/** What a call asks for, as it is kept. */
export function askedOfCall(effect: Effect): string {
  return `call ${effect.key} ${effect.fingerprint()}`;
}

/** What is kept of a call; null if it was not made. */
export function keptOfCall({ recall }: Pick<Attempt, "recall">, effect: Effect, one: Settled): Step | null {
  const asked = askedOfCall(effect);
  const failed = recall?.again(asked)?.paid;
  if (one.ok) {
    const made = one.value as CallResult;
    return "skipped" in made
      ? { kind: "decided", skipped: true, failed }
      : { kind: "call", of: effect.kind, recorded: made.recorded, failed };
  }
  const { error } = one;
  if (isRaviError(error, "NEEDS_DECISION")) return { kind: "decided", failure: errorToJSON(error), failed };
  return recall?.failureOf(asked) ?? null;
}

/** Counts what a call has cost that an earlier invocation of the execution has made. */
export function countKept({ used }: Pick<Attempt, "used">, step: Step | null): void {
  if (step?.kind !== "call" && step?.kind !== "decided") return;
  used.addFailed(step.failed ?? []);
  if (step.kind === "decided") used.add(ONE_TOOL_CALL, 1);
  else used.add(step.recorded.paid, step.recorded.attempt);
}

/** A call that an earlier invocation of the execution has made. It is not on record again. */
export async function recalledCall(attempt: Attempt, effect: Effect, step: Step): Promise<Settled> {
  countKept(attempt, step);
  if (step.kind === "decided") {
    if ("failure" in step) return { ok: false, error: errorFromJSON(step.failure) };
    return { ok: true, value: effect.skipped?.() };
  }
  if (step.kind !== "call") throw new TypeError(`${effect.key} was recorded as a ${step.kind}`);
  const { recorded } = step;
  if (attempt.recall?.isSilent === true) attempt.learn({ ...recorded, at: attempt.standing.at });
  const one = { ok: true, value: { recorded, isFresh: false } satisfies CallResult } as const;
  return (await settledOf(attempt, effect, one)).settled;
}

/** The value or error of a call for the agent, and what is on record of it. */
export interface SettledCall {
  readonly settled: Settled;
  readonly events: readonly (AgentEvent | CallEntry)[];
}

/** Turns the record of a call into the value or error for the agent. */
export async function settledOf(attempt: Attempt, effect: Effect, one: Settled): Promise<SettledCall> {
  if (!one.ok) return { settled: one, events: [] };
  const made = one.value as CallResult;
  if ("skipped" in made) return { settled: { ok: true, value: effect.skipped?.() }, events: [] };
  const { stored, paid } = made.recorded;
  const body = stored === undefined ? {} : await readBody(attempt, stored);
  if (!made.isFresh) effect.replayed?.(body);
  const events = [...eventsOfCall(effect, body, paid), entryOfCall(effect, body, made.recorded)];
  if (body["error"] === undefined) return { settled: { ok: true, value: effect.restore(body) }, events };
  return { settled: { ok: false, error: errorFromJSON(body["error"] as SerializedError) }, events };
}

/**
 * If a recorded outcome cannot be read now, that is not the outcome of the call: the execution is suspended and keeps its place.
 */
async function readBody(attempt: Attempt, stored: Stored): Promise<JsonObject> {
  try {
    return await fetchStored(stored, attempt.blobs);
  } catch (error) {
    throw attempt.suspend(error instanceof Error ? error : new Error(String(error)));
  }
}

/** The call may have been made before a crash and must not be made twice: somebody has to decide. */
function* deciding(attempt: Attempt, lane: number, { key, what, call }: Effect): Steps<Decision> {
  const { context, start, channel } = attempt;
  const { execId } = start;
  const decided = context.awakeable<{ decision: Decision }>(json());
  const asked = context.run("doubt", async () => {
    const error = errorToJSON(new NeedsDecisionError({ execId, key, what }));
    const question =
      call === undefined
        ? undefined
        : listedQuestion({ tool: call.name, callId: call.id, arguments: argumentsText(call) });
    const message = { ...attempt.fromNow(lane), key, awakeable: decided.id, error, question };
    return channel.ask("doubt", message, attempt.isOver);
  });
  const { decision } = yield* awaiting(asked, { cut: false });
  return decision ?? (yield* awaiting(decided.promise, { cut: true })).decision;
}

function checkSameRequest(
  attempt: Attempt,
  { key, what }: Effect,
  fingerprint: string,
  recorded: Recorded,
): void {
  if (recorded.key === key && recorded.fingerprint === fingerprint) return;
  const was = recorded.key === key ? "another request" : recorded.key;
  throw attempt.mismatch({ key, recorded: was, requested: what });
}
