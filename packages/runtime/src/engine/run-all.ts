import { isPromiseLike, type MaybePromise, type Operation, type Settled } from "@ravi/kernel";
import type { InProcessEngine } from "./in-process.ts";
import type { Replay } from "./replay.ts";

/** Starts operations in the order given and waits for all of them. Makes no promise if none of them makes one. */
export function runAll(
  engine: InProcessEngine,
  operations: readonly Operation[],
): MaybePromise<readonly Settled[]> {
  const [only] = operations;
  const { replay } = engine;
  // Most turns have one operation.
  if (only !== undefined && operations.length === 1 && replay === undefined) return onlyOne(engine, only);
  const begun = replay === undefined ? beginAll(engine, operations) : beginAgain(engine, replay, operations);
  return begun.some(isPromiseLike) ? joined(engine, begun) : unlessSuspended(engine, begun as Settled[]);
}

function onlyOne(engine: InProcessEngine, operation: Operation): MaybePromise<readonly Settled[]> {
  const made = make(engine, operation);
  if (!isPromiseLike(made)) return unlessSuspended(engine, [succeeded(made)]);
  return made.then(
    (value) => unlessSuspended(engine, [succeeded(value)]),
    (error: unknown) => unlessSuspended(engine, [failed(error)]),
  );
}

async function joined(
  engine: InProcessEngine,
  begun: readonly MaybePromise<Settled>[],
): Promise<readonly Settled[]> {
  const outcomes: Settled[] = [];
  for (const each of begun) outcomes.push(isPromiseLike(each) ? await each : each);
  return unlessSuspended(engine, outcomes);
}

/** A suspension stops the whole run: it is not the outcome of one operation. */
function unlessSuspended({ suspension }: InProcessEngine, outcomes: readonly Settled[]): readonly Settled[] {
  if (suspension !== undefined) throw suspension;
  return outcomes;
}

/** The promises never reject. */
function beginAll(
  engine: InProcessEngine,
  operations: readonly Operation[],
): readonly MaybePromise<Settled>[] {
  return operations.map((operation) => settled(make(engine, operation)));
}

/** In a resumed run: decisions are asked for before anything starts, and the record knows that the operations come in any order. */
function beginAgain(
  engine: InProcessEngine,
  replay: Replay,
  operations: readonly Operation[],
): readonly MaybePromise<Settled>[] {
  for (const operation of operations) if (operation.kind === "tool") replay.requireDecision(operation);
  // Each operation looks for its record synchronously, so it is enough to set the keys while they are started.
  replay.setBatch(new Set(operations.map(({ key }) => key)));
  const begun = beginAll(engine, operations);
  replay.setBatch(undefined);
  return begun;
}

function make(engine: InProcessEngine, operation: Operation): MaybePromise<unknown> {
  if (operation.kind === "hire") return engine.hire(operation);
  if (operation.kind === "wait") return engine.wait(operation);
  return engine.effect(operation);
}

function settled(operation: MaybePromise<unknown>): MaybePromise<Settled> {
  return isPromiseLike(operation) ? operation.then(succeeded, failed) : succeeded(operation);
}

function succeeded(value: unknown): Settled {
  return { ok: true, value };
}

function failed(error: unknown): Settled {
  return { ok: false, error };
}
