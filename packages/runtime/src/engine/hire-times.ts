import type { CancellationToken, HireSpec, JsonObject, MaybePromise } from "@ravi/kernel";
import { least } from "@ravi/kernel/loop";
import { armDeadline } from "./deadline.ts";
import type { InProcessEngine } from "./in-process.ts";
import { orStopped } from "./waiting.ts";

/** Both are epoch milliseconds, so that a restart makes neither longer; null is no limit. */
export interface HireTimes {
  /** When the child has to be done. */
  readonly deadline: number | null;
  /** How long the parent waits for it. */
  readonly until: number | null;
}

/** A resumed hire has the times that it began with. */
export function timesOf(engine: InProcessEngine, spec: HireSpec): HireTimes {
  const recorded = engine.recordedBegin(spec.key);
  if (recorded !== undefined)
    return { deadline: timeAt(recorded, "deadline"), until: timeAt(recorded, "until") };
  const now = engine.clock.now();
  const seconds = spec.budget?.deadlineS ?? null;
  const own = seconds === null ? null : now + seconds * 1000;
  const { deadline } = engine.start;
  return {
    deadline: least(own, deadline),
    until: spec.timeoutMs === undefined ? null : now + spec.timeoutMs,
  };
}

function timeAt(body: JsonObject, field: string): number | null {
  const time = body[field];
  return typeof time === "number" ? time : null;
}

/** How long a child has waited for its seat. If an earlier process gave it the seat, until its first fact on record. */
export function timeInQueue(engine: InProcessEngine, spec: HireSpec, until: number): number {
  const hiredAt = until - (spec.timeoutMs ?? 0);
  const seatedAt = engine.tree.recording?.of(spec.execId).startedAt ?? engine.clock.now();
  return Math.max(0, seatedAt - hiredAt);
}

/** Waits for a permission policy, which may be slow or hang, no longer than the hire's own time. A resumed hire asks it afresh. */
export async function permittedInTime<T>(
  engine: InProcessEngine,
  spec: HireSpec,
  times: HireTimes,
  denial: PromiseLike<T>,
): Promise<T> {
  const deadline = Math.min(times.deadline ?? Infinity, engine.clock.now() + (spec.timeoutMs ?? Infinity));
  if (deadline === Infinity) return denial;
  return beforeDeadline(engine, spec, deadline, (token) =>
    orStopped({ token, suspension: undefined }, Promise.resolve(denial)),
  );
}

/** Calls `wait` with a token that is cancelled with the parent's, or at the deadline. */
export async function beforeDeadline<T>(
  engine: InProcessEngine,
  { execId }: HireSpec,
  deadline: number,
  wait: (token: CancellationToken) => MaybePromise<T>,
): Promise<T> {
  const { clock, tree } = engine;
  const token = engine.token.child();
  const disarm = armDeadline({ clock, token, deadline, recording: tree.recording?.of(execId) });
  try {
    return await wait(token);
  } finally {
    disarm();
    token.dispose();
  }
}
