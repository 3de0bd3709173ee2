import type { CancellationToken, HireSpec, Lease, MaybePromise } from "@ravi/kernel";
import { beforeDeadline } from "./hire-times.ts";
import type { InProcessEngine } from "./in-process.ts";

/** Takes the seat of a child: the one that a resumed run has kept for it, or a new one. Undefined if seats are not counted. */
export function takeSeat(
  engine: InProcessEngine,
  spec: HireSpec,
  deadline: number | null,
): MaybePromise<Lease> | undefined {
  const { headcount } = engine.tree;
  const { agentId, priority } = spec;
  if (headcount === undefined) return undefined;
  if (engine.tree.takeRestoredSeat(spec.execId)) {
    const release = (): void => void engine.tree.releaseSeat(agentId);
    return { agentId, release, [Symbol.dispose]: release };
  }
  const parentId = engine.start.supervision.agentId;
  if (spec.onFull !== "queue") return headcount.acquire(agentId, priority, { parentId });
  const queue = ({ signal }: CancellationToken): MaybePromise<Lease> =>
    headcount.acquire(agentId, priority, { parentId, onFull: "queue", signal });
  // If the child has no deadline earlier than its parent's, the parent's token ends the wait in time.
  const endsWithParent = deadline === null || deadline === engine.start.deadline;
  return endsWithParent ? queue(engine.token) : beforeDeadline(engine, spec, deadline, queue);
}
