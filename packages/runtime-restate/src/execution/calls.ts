import {
  type AgentEvent,
  type Effect,
  errorFromJSON,
  errorToJSON,
  type JsonObject,
  NeedsDecisionError,
  NO_USAGE,
  PausedError,
  type SerializedError,
  type Settled,
} from "@ravi/kernel";
import type { Decision } from "@ravi/kernel/loop";
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
      const decision = yield* deciding(attempt, lane, effect);
      // The call was begun and stays charged. Only a call that is made again counts by what it then uses.
      if (decision !== "retry" && effect.kind === "tool") attempt.used.add(ONE_TOOL_CALL, 1);
      if (decision === "skip" && effect.skipped !== undefined) return { skipped: true };
      const { key, what } = effect;
      if (decision !== "retry") throw new NeedsDecisionError({ execId, key, what, decided: "fail" });
      continue;
    }
    if (start.onPreempt === "return") throw new PausedError({ agentId: start.supervision.agentId });
    yield* pausing(attempt, lane);
  }
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
function* deciding(attempt: Attempt, lane: number, { key, what }: Effect): Steps<Decision> {
  const { context, start, channel } = attempt;
  const { execId } = start;
  const decided = context.awakeable<{ decision: Decision }>(json());
  const asked = context.run("doubt", async () => {
    const error = errorToJSON(new NeedsDecisionError({ execId, key, what }));
    const message = { ...attempt.fromNow(lane), key, awakeable: decided.id, error };
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
