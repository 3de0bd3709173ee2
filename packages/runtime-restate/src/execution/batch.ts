import type { HireOutcome, JsonValue, Operation, Settled } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";
import { askedOfCall, keptOfCall, paying, recalledCall, type SettledCall, settledOf } from "./calls.ts";
import { askedOfHire, childOf, keptOfHire, recalledHire } from "./child.ts";
import { goingOn, hiring } from "./hiring.ts";
import type { Step } from "./kept/steps.ts";
import type { Lane } from "./lane.ts";
import type { Steps } from "./steps.ts";
import { AdmissionOrder } from "./admission-order.ts";
import { askedOfWait, waiting } from "./waits.ts";

/**
 * Runs a batch. What an earlier invocation of the execution has done of it is not done again. Of the rest all seats are requested in order,
 * then all admissions; one loop moves every branch until the last one ends.
 */
export async function batch(
  attempt: Attempt,
  driver: Lane,
  lane: number,
  operations: readonly Operation[],
): Promise<readonly Settled[]> {
  const { operation: begun, known } = attempt.begin(operations.map(askedOf));
  const settled: Settled[] = [];
  const steps: (Step | null)[] = [...known];
  const left: Operation[] = [];
  const places: number[] = [];
  for (const [place, operation] of operations.entries()) {
    const step = known[place] ?? null;
    if (step !== null) {
      settled[place] = await recalled(attempt, driver, operation, step);
      continue;
    }
    left.push(operation);
    places.push(place);
  }
  await driver.driveOne(goingOn(attempt, lane, operations, known));
  if (left.length > 0) {
    const hires = left.filter((operation) => operation.kind === "hire");
    const seats = await driver.driveOne(hiring(attempt, lane, hires, "hire"));
    const order = new AdmissionOrder();
    const branches = left.map((operation): Steps<unknown> => {
      if (operation.kind === "hire")
        return childOf(attempt, driver, lane, operation, seats.get(operation.key));
      if (operation.kind === "wait") return waiting(attempt, lane, operation, order.next());
      return paying(attempt, lane, operation, order.next());
    });
    const driven = await driver.drive(branches);
    if (attempt.suspension !== undefined) throw attempt.suspension;
    for (const [at, one] of driven.entries()) {
      const [operation, place] = [left[at], places[at]];
      if (operation !== undefined && place !== undefined) steps[place] = keptOf(attempt, operation, one);
    }
    const all = await Promise.all(driven.map((one, at) => outcomeOf(attempt, left[at], one)));
    // In the order of the batch, which is the same in a replay.
    for (const [at, { settled: one, events }] of all.entries()) {
      for (const event of events) attempt.record(event);
      settled[places[at] ?? at] = one;
    }
  }
  attempt.finish(begun, steps);
  return settled;
}

function askedOf(operation: Operation): string {
  if (operation.kind === "hire") return askedOfHire(operation);
  return operation.kind === "wait" ? askedOfWait(operation) : askedOfCall(operation);
}

function recalled(
  attempt: Attempt,
  driver: Lane,
  operation: Operation,
  step: Step,
): Settled | Promise<Settled> {
  if (operation.kind === "hire") return recalledHire(attempt, driver, operation, step);
  if (operation.kind !== "wait") return recalledCall(attempt, operation, step);
  return { ok: true, value: step.kind === "wait" ? step.value : null };
}

function keptOf(attempt: Attempt, operation: Operation, one: Settled): Step | null {
  if (operation.kind === "hire")
    return one.ok ? keptOfHire(attempt, operation, one.value as HireOutcome) : null;
  if (operation.kind !== "wait") return keptOfCall(attempt, operation, one);
  return one.ok ? { kind: "wait", name: operation.name, value: one.value as JsonValue } : null;
}

async function outcomeOf(
  attempt: Attempt,
  operation: Operation | undefined,
  one: Settled,
): Promise<SettledCall> {
  const isCall = operation !== undefined && operation.kind !== "hire" && operation.kind !== "wait";
  return isCall ? settledOf(attempt, operation, one) : { settled: one, events: [] };
}
