import type { Operation, Settled } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";
import { paying, type SettledCall, settledOf } from "./calls.ts";
import { childOf } from "./child.ts";
import { hiring } from "./hiring.ts";
import type { Lane } from "./lane.ts";
import type { Steps } from "./steps.ts";
import { AdmissionOrder } from "./admission-order.ts";
import { waiting } from "./waits.ts";

/** Runs a batch. All seats are requested in order, then all admissions; one loop moves every branch until the last one ends. */
export async function batch(
  attempt: Attempt,
  driver: Lane,
  lane: number,
  operations: readonly Operation[],
): Promise<readonly Settled[]> {
  const hires = operations.filter((operation) => operation.kind === "hire");
  const seats = await driver.driveOne(hiring(attempt, lane, hires, "hire"));
  const order = new AdmissionOrder();
  const branches = operations.map((operation): Steps<unknown> => {
    if (operation.kind === "hire") return childOf(attempt, driver, lane, operation, seats.get(operation.key));
    if (operation.kind === "wait") return waiting(attempt, lane, operation);
    return paying(attempt, lane, operation, order.next());
  });
  const settled = await driver.drive(branches);
  if (attempt.suspension !== undefined) throw attempt.suspension;
  const all = await Promise.all(
    settled.map(async (one, at): Promise<SettledCall> => {
      const operation = operations[at];
      const isCall = operation !== undefined && operation.kind !== "hire" && operation.kind !== "wait";
      return isCall ? settledOf(attempt, operation, one) : { settled: one, events: [] };
    }),
  );
  // In the order of the batch, which is the same in a replay.
  for (const { events } of all) for (const event of events) attempt.record(event);
  return all.map((each) => each.settled);
}
