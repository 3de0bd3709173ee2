import {
  type Effect,
  errorFromJSON,
  errorToJSON,
  type JsonObject,
  NeedsDecisionError,
  NonDeterminismError,
  PausedError,
  type SerializedError,
  type Settled,
} from "@ravi/kernel";
import { json } from "../json.ts";
import type { Decision } from "../root/messages.ts";
import { fetchStored } from "./bodies.ts";
import type { RestateEngine } from "./engine.ts";
import { pay, type Recorded } from "./payment.ts";
import { reportWarnings } from "./report.ts";
import { awaiting, type Steps } from "./steps.ts";
import { resting } from "./waits.ts";

/** What a call came to: its record and whether this attempt has made it, or nothing where somebody decided to leave it out. */
export type Made = { readonly recorded: Recorded; readonly isFresh: boolean } | { readonly skipped: true };

/** One call, as often as it takes until it is made: it may have to wait for a seat or for a decision in between. */
export function* paying(engine: RestateEngine, lane: number, effect: Effect): Steps<Made> {
  const { context, start, ports, line, blobs, token } = engine;
  const { execId } = start;
  const fingerprint = effect.fingerprint();
  for (;;) {
    const settle = engine.unsettled;
    engine.unsettled = [];
    let isFresh = false;
    const closure = async (): Promise<Recorded> => {
      isFresh = true;
      const warn = reportWarnings(engine);
      const { isMetered, attemptOver } = engine;
      const { clock, ids } = ports;
      const own = { effect, fingerprint, execId, lane, settle, isMetered, line, clock, ids, blobs, token };
      return pay({ ...own, attemptOver, warn });
    };
    const recorded = yield* awaiting(context.run(effect.kind, closure, { serde: json<Recorded>() }), {
      cut: false,
    });
    refuseAnother(engine, effect, fingerprint, recorded);
    engine.learnFrom(recorded);
    if (recorded.verdict === "done") {
      engine.unsettled = [...engine.unsettled, ...recorded.settle];
      engine.used.add(recorded.paid, recorded.attempt);
      return { recorded, isFresh };
    }
    if (recorded.verdict === "stopped") {
      engine.hearStop(recorded);
      token.check();
    }
    if (recorded.verdict === "stale") throw engine.suspend(new Error(`${execId} goes on elsewhere`));
    if (recorded.verdict === "doubt") {
      const decision = yield* deciding(engine, lane, effect);
      if (decision === "skip" && effect.skipped !== undefined) return { skipped: true };
      if (decision !== "retry") throw new NeedsDecisionError({ execId, key: effect.key, what: effect.what });
      continue;
    }
    if (start.onPreempt === "return") throw new PausedError({ agentId: start.supervision.agentId });
    yield* resting(engine, lane);
  }
}

/** What the agent gets of it. */
export async function settledOf(engine: RestateEngine, effect: Effect, one: Settled): Promise<Settled> {
  if (!one.ok) return one;
  const made = one.value as Made;
  if ("skipped" in made) return { ok: true, value: effect.skipped?.() };
  const { stored } = made.recorded;
  const body: JsonObject = stored === undefined ? {} : await fetchStored(stored, engine.blobs);
  if (!made.isFresh) effect.replayed?.(body);
  if (body["error"] === undefined) return { ok: true, value: effect.restore(body) };
  return { ok: false, error: errorFromJSON(body["error"] as SerializedError) };
}

/** It may or may not have been made before a crash, and must not be made twice: somebody is asked. */
function* deciding(engine: RestateEngine, lane: number, { key, what }: Effect): Steps<Decision> {
  const { context, start, line, ports } = engine;
  const { execId } = start;
  const decided = context.awakeable<{ decision: Decision }>(json());
  const asked = context.run("doubt", async () => {
    const error = errorToJSON(new NeedsDecisionError({ execId, key, what }));
    const message = { at: ports.clock.now(), execId, lane, key, awakeable: decided.id, error };
    return line.ask("doubt", message, engine.attemptOver);
  });
  const { decision } = yield* awaiting(asked, { cut: false });
  return decision ?? (yield* awaiting(decided.promise, { cut: true })).decision;
}

function refuseAnother(
  engine: RestateEngine,
  { key, what }: Effect,
  fingerprint: string,
  recorded: Recorded,
): void {
  if (recorded.key === key && recorded.fingerprint === fingerprint) return;
  const { execId } = engine.start;
  const was = recorded.key === key ? "another request" : recorded.key;
  throw engine.suspend(new NonDeterminismError({ execId, key, recorded: was, requested: what }));
}
