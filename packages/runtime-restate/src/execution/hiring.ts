import type { RestatePromise } from "@restatedev/restate-sdk";
import {
  errorFromJSON,
  errorToJSON,
  type ExecutionBudgetOptions,
  type HireSpec,
  isRaviError,
  type JsonObject,
  type Operation,
  type RaviError,
  type SerializedError,
  type Supervision,
} from "@ravi/kernel";
import { json } from "../json.ts";
import type { Message } from "../root/decide.ts";
import { refuseOwnLedger } from "../own-ledger.ts";
import { refuseHelper } from "../refuse-helper.ts";
import type { Launch } from "../root/messages.ts";
import type { Attempt } from "./attempt.ts";
import { askedOfHire } from "./child.ts";
import type { Step } from "./kept/steps.ts";
import { eventOfHire } from "./record.ts";
import { bytesOf, MOST, tooLarge } from "../sizes.ts";
import { awaiting, type Steps } from "./steps.ts";

type HireRecord = {
  readonly at: number;
  readonly keys: readonly string[];
  readonly denied: readonly (SerializedError | null)[];
};

/** A granted seat with the promise of its child's end, or the reason for the denial. */
export interface Seat {
  readonly denied?: RaviError | undefined;
  readonly over?: RestatePromise<JsonObject> | undefined;
  readonly late?: RestatePromise<void> | undefined;
  readonly deadline: number;
}

/** Requests all seats in the given order. Returns them by the key of the hire. */
export function* hiring(
  attempt: Attempt,
  lane: number,
  specs: readonly HireSpec[],
  how: "hire" | "spawn",
): Steps<ReadonlyMap<string, Seat>> {
  const seats = new Map<string, Seat>();
  if (specs.length === 0) return seats;
  const { context, ports } = attempt;
  attempt.flush(lane);
  const keys = specs.map(({ key, fingerprint }) => `${key} ${fingerprint}`);
  const asked = context.run(
    "hire",
    async (): Promise<HireRecord> => {
      const denied = [];
      const inputs = new InputSizes();
      for (const spec of specs) denied.push(await denialOf(spec, inputs));
      return { at: ports.clock.now(), keys, denied };
    },
    { serde: json<HireRecord>() },
  );
  const { at, denied, keys: recorded } = yield* awaiting(asked, { cut: false });
  for (const [place, key] of keys.entries()) attempt.expect(key, recorded[place] ?? "nobody");
  const agains = specs.map((spec) => attempt.recall?.again(askedOfHire(spec)));
  for (const [place, spec] of specs.entries())
    if (agains[place] === undefined) attempt.record(eventOfHire(spec));
  const deny = (spec: HireSpec, refused: SerializedError): void => {
    seats.set(spec.key, deniedSeat(refused, at));
    attempt.recordDenied(spec, { type: "started", input: spec.input }, { type: "error", error: refused });
  };
  const wanted = specs.filter((spec, place) => {
    const refused = denied[place] ?? undefined;
    if (refused !== undefined) deny(spec, refused);
    return refused === undefined;
  });
  if (wanted.length === 0) return seats;
  const messages = wanted.map((spec): Message<"hire"> => {
    const over = how === "spawn" ? undefined : context.awakeable<JsonObject>(json());
    const { key, timeoutMs } = spec;
    attempt.register(spec.agent);
    attempt.spans.note(spec, attempt.isOver);
    attempt.hired++;
    // The time that it had used before its run failed counts, and that in which the run had failed does not.
    const since = at - (agains[specs.indexOf(spec)]?.tookMs ?? 0);
    const leftMs = timeoutMs === undefined ? undefined : Math.max(0, since + timeoutMs - at);
    const late = leftMs === undefined || how === "spawn" ? undefined : context.sleep(leftMs, key);
    seats.set(key, { over: over?.promise, late, deadline: since + (timeoutMs ?? 0) });
    attempt.hiredAt.set(key, since);
    return { ...hireMessage(attempt, lane, spec, since), at, over: over?.id };
  });
  // One message for all of them: the tree's object writes its state once, however many are hired.
  const hired = yield* awaiting(attempt.callAll("hire", messages), { cut: false });
  for (const [place, spec] of wanted.entries()) {
    const refused = hired[place]?.denied;
    if (refused !== undefined) deny(spec, refused);
    else attempt.children.set(spec.execId, spec.agent.output);
  }
  return seats;
}

/**
 * Tells children to go on that an earlier invocation of this execution had hired, and whose ends it has not seen: they were stopped when it
 * failed. The tree knows which have ended by themselves.
 */
export function* goingOn(
  attempt: Attempt,
  lane: number,
  operations: readonly Operation[],
  known: readonly (Step | null)[],
): Steps<void> {
  const { recall } = attempt;
  const left = operations.flatMap((operation, place) => {
    const step = known[place] ?? null;
    if (operation.kind !== "hire" || step === null || recall?.mayGoOn(operation.execId) !== true) return [];
    const isLeft = step.kind === "spawn" ? step.denied === undefined : isTimedOut(step);
    return isLeft ? [operation] : [];
  });
  if (left.length === 0) return;
  const since = attempt.putOff(attempt.standing.at);
  const messages = left.map((spec) => hireMessage(attempt, lane, spec, since));
  yield* awaiting(attempt.callAll("hire", messages), { cut: false });
}

function isTimedOut(step: Step): boolean {
  return step.kind === "hire" && step.outcome["status"] === "timedOut";
}

/** `since` is when the time of the child begins. */
function hireMessage(attempt: Attempt, lane: number, spec: HireSpec, since: number): Message<"hire"> {
  const { key, agentId, priority, budget, onFull } = spec;
  const launch = launchOf(attempt, spec, since);
  const terms = { agentId, priority: priority ?? null, launch, budget: limitsOf(budget), onFull };
  const isJoinable = spec.isJoinable || spec.onTimeout === "leave";
  const isAgain = attempt.recall === undefined ? undefined : true;
  return { ...attempt.from(lane), key, ...terms, isJoinable, isAgain };
}

function deniedSeat(refused: SerializedError, at: number): Seat {
  return { denied: errorFromJSON(refused) as RaviError, deadline: at };
}

/** Runs inside the recorded closure, so a replay does not ask again. */
async function denialOf(spec: HireSpec, inputs: InputSizes): Promise<SerializedError | null> {
  try {
    refuseOwnLedger(spec.agent);
    refuseHelper(spec.agent);
    spec.supervision();
    const denied = (await spec.denial()) ?? inputs.refusal(spec);
    return denied === undefined ? null : errorToJSON(denied);
  } catch (error) {
    if (!isRaviError(error)) throw error;
    return errorToJSON(error);
  }
}

/** Limits the total size of the inputs of one batch, since they go in one message. */
class InputSizes {
  private total = 0;

  refusal({ input, attachments }: HireSpec): RaviError | undefined {
    const bytes = this.total + bytesOf(input) + (attachments === undefined ? 0 : bytesOf(attachments));
    if (bytes > MOST) return tooLarge("hire.input, with those before it in its batch", bytes);
    this.total = bytes;
    return undefined;
  }
}

function launchOf({ start }: Attempt, spec: HireSpec, at: number): Launch {
  const seconds = spec.budget?.deadlineS ?? null;
  const own = seconds === null ? Infinity : at + seconds * 1000;
  const deadline = Math.min(own, start.deadline ?? Infinity);
  const supervision: Supervision = spec.supervision();
  return {
    runId: supervision.runId,
    execId: spec.execId,
    agent: spec.agentName,
    supervision: supervision.toJSON(),
    input: spec.input,
    ...(spec.attachments !== undefined && { attachments: spec.attachments }),
    tenantId: start.tenantId,
    userId: start.scope.userId,
    metadata: start.scope.metadata,
    deadline: deadline === Infinity ? null : deadline,
    onPreempt: spec.onPreempt,
  };
}

/** Only the limits: a frozen budget also has its version in JSON, which is not a limit. */
function limitsOf(budget: ExecutionBudgetOptions | undefined): ExecutionBudgetOptions | null {
  if (budget === undefined) return null;
  const { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS } = budget;
  return { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS };
}
