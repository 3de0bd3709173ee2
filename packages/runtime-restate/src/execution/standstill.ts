import { RestatePromise } from "@restatedev/restate-sdk";
import type { ExecId, HireUsage } from "@ravi/kernel";
import { json } from "../json.ts";
import type { Waited } from "../root/messages.ts";
import type { Attempt } from "./attempt.ts";
import { awaiting, type Steps } from "./steps.ts";

/** What is known of a child whose time is up. */
export interface Extension {
  /** How much longer to wait for it, because it stood still for so long. Undefined if it did not: it is late. */
  readonly moreMs: number | undefined;
  /** How long it has stood still altogether. */
  readonly stillMs: number;
  readonly used: HireUsage;
}

/**
 * Called when the time for a child is up. The time in which it stood still, beyond `knownMs`, is added to it; while it still does, this
 * waits until it goes on, or until `over`.
 */
export function* extending<T>(
  attempt: Attempt,
  lane: number,
  child: ExecId,
  knownMs: number,
  over: RestatePromise<T>,
): Steps<Extension | { readonly over: T }> {
  const moved = attempt.context.awakeable<number>(json());
  const { stillMs, isStill, ...used } = yield* standstill(attempt, lane, child, moved.id);
  const moreMs = Math.max(0, stillMs - knownMs);
  if (!isStill) return { moreMs: moreMs === 0 ? undefined : moreMs, stillMs, used };
  const goesOn = moved.promise.map((ms) => ({ movedMs: ms ?? stillMs }));
  const isOver = over.map((value) => ({ over: value as T }));
  const next = yield* awaiting(RestatePromise.race([isOver, goesOn]), { cut: true });
  return "over" in next ? next : { moreMs, stillMs: next.movedMs, used };
}

/** How long a child has stood still until now. */
export function* standstill(attempt: Attempt, lane: number, child: ExecId, moved?: string): Steps<Waited> {
  const { context, channel } = attempt;
  const asked = context.run(
    "waited",
    () => channel.ask("waited", { ...attempt.fromNow(lane), child, moved }, attempt.isOver),
    { serde: json<Waited>() },
  );
  return yield* awaiting(asked, { cut: false });
}
