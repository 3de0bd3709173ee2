import { RestatePromise } from "@restatedev/restate-sdk";
import {
  errorFromJSON,
  errorToJSON,
  type ExecId,
  type Heard,
  type InboxMessage,
  type JsonValue,
  type MaybePromise,
  type SerializedError,
  type WaitSpec,
} from "@ravi/kernel";
import { listedQuestion } from "@ravi/kernel/loop";
import { json } from "../json.ts";
import type { Mail, Standing, Wanted } from "../root/messages.ts";
import type { AdmissionTurn } from "./admission-order.ts";
import type { Attempt } from "./attempt.ts";
import type { Step, StepKind, StepOf } from "./kept/steps.ts";
import { bytesOf, MOST, tooLarge } from "../sizes.ts";
import { eventOfWait } from "./record.ts";
import { extending, standstill } from "./standstill.ts";
import { awaiting, type Steps } from "./steps.ts";

type Delivered<T> = { readonly value: T; readonly standing: Standing };
type Refused = { readonly refused: SerializedError };
type Fact = {
  readonly key: string;
  readonly value: JsonValue;
  readonly refused?: SerializedError | undefined;
  readonly at: number;
};

/** What a wait asks for, as it is kept. */
export function askedOfWait({ key }: WaitSpec): string {
  return `wait ${key}`;
}

/**
 * Makes a step of its own, unless an earlier invocation of the execution has made it. `toStep` says what is kept of it, and `toValue` reads
 * that.
 */
export function* once<K extends StepKind, T>(
  attempt: Attempt,
  kind: K,
  key: string,
  make: () => Steps<T>,
  toStep: (value: T) => StepOf<K>,
  toValue: (step: StepOf<K>) => T,
): Steps<T> {
  const { operation, known } = attempt.begin([`${kind} ${key}`]);
  const step: Step | null = known[0] ?? null;
  if (step !== null) return toValue(step as StepOf<K>);
  const value = yield* make();
  attempt.finish(operation, [toStep(value)]);
  return value;
}

/** A value that is computed once and recorded. */
export function* recording(
  attempt: Attempt,
  key: string,
  make: () => MaybePromise<JsonValue>,
): Steps<JsonValue> {
  const { context, ports } = attempt;
  const closure = async (): Promise<Fact> => {
    const value = await make();
    const bytes = bytesOf(value);
    const fact = { key, value, at: ports.clock.now() };
    return bytes <= MOST ? fact : { ...fact, value: null, refused: errorToJSON(tooLarge(key, bytes)) };
  };
  const made = context.run("fact", closure, { serde: json<Fact>() });
  const known = yield* awaiting(made, { cut: false });
  attempt.expect(key, known.key);
  attempt.learnTime(known.at);
  if (known.refused !== undefined) throw errorFromJSON(known.refused);
  return known.value;
}

/** Waits until a time. */
export function* sleeping(attempt: Attempt, lane: number, key: string, until: number): Steps<void> {
  const { context, ports } = attempt;
  attempt.flush(lane);
  for (;;) {
    const look = context.run("sleep", () => ({ key, at: ports.clock.now() }));
    const known = yield* awaiting(look, { cut: false });
    attempt.expect(key, known.key);
    attempt.learnTime(known.at);
    if (known.at >= until) return;
    yield* awaiting(context.sleep(until - known.at, key), { cut: true });
  }
}

/** Waits until a value of that name is delivered. A value that came early is returned at once, and `onWait` is not called. */
export function* waiting(
  attempt: Attempt,
  lane: number,
  spec: WaitSpec,
  turn: AdmissionTurn,
): Steps<JsonValue> {
  const { context, channel } = attempt;
  const { key, name } = spec;
  const before = attempt.recall?.takeValue(name);
  if (before !== undefined) {
    turn.pass();
    return before.value;
  }
  attempt.flush(lane);
  const delivered = context.awakeable<Delivered<JsonValue>>(json());
  const asked = context.run(
    "wait",
    async () => {
      const question = listedQuestion(spec.question);
      const isApproval = spec.question !== undefined;
      const message = { ...attempt.fromNow(lane), key, name, awakeable: delivered.id, isApproval, question };
      await turn.reached();
      const answered = channel.ask("want", message, attempt.isOver);
      turn.pass();
      const wanted = await answered;
      if (wanted.got === undefined) spec.onWait?.();
      return { key, wanted };
    },
    { serde: json<{ key: string; wanted: Wanted }>() },
  );
  const { key: recorded, wanted } = yield* awaiting(asked, { cut: false });
  turn.pass();
  attempt.expect(key, recorded);
  attempt.learn(wanted);
  attempt.applyStop(wanted);
  attempt.token.check();
  if (wanted.got !== undefined) return wanted.got.value;
  const request = eventOfWait(spec);
  if (request !== undefined) attempt.record(request);
  const { value, standing } = yield* awaiting(delivered.promise, { cut: true });
  attempt.learn(standing);
  return value;
}

/** Waits until the agent has its seat again. `onMissing` is called when the missing seat is noticed, but not in a replay. */
export function* waitingForSeat(attempt: Attempt, lane: number, onMissing: () => void): Steps<void> {
  const { context, channel } = attempt;
  attempt.flush(lane);
  const seated = context.awakeable<Standing>(json());
  const asked = context.run(
    "rest",
    async () => {
      const message = { ...attempt.fromNow(lane), awakeable: seated.id };
      onMissing();
      return channel.ask("park", message, attempt.isOver);
    },
    { serde: json<Standing>() },
  );
  let standing = yield* awaiting(asked, { cut: false });
  attempt.applyStop(standing);
  attempt.token.check();
  if (standing.paused) standing = yield* awaiting(seated.promise, { cut: true });
  attempt.learn(standing);
}

export interface Question {
  readonly key: string;
  readonly child: ExecId;
  readonly content: JsonValue;
  readonly timeoutMs: number | undefined;
  readonly attachments?: InboxMessage["attachments"];
}

/** Asks a child and waits for its reply, its end or the timeout. */
export function* asking(attempt: Attempt, lane: number, question: Question): Steps<Heard> {
  const { context, start } = attempt;
  const { key, child, content, attachments, timeoutMs } = question;
  attempt.flush(lane);
  const answered = context.awakeable<Heard | Refused>(json());
  const from = attempt.from(lane);
  const message: InboxMessage = {
    id: `${start.execId}:${key}`,
    from: start.supervision.agentId,
    content,
    ...(attachments !== undefined && { attachments }),
    at: from.at,
  };
  attempt.send("ask", { ...from, child, message, awakeable: answered.id });
  const answer = attempt.answered(answered.promise);
  const heard =
    timeoutMs === undefined
      ? yield* awaiting(answer, { cut: true })
      : yield* inTime(attempt, lane, question, timeoutMs, answer);
  if ("refused" in heard) throw errorFromJSON(heard.refused);
  return heard;
}

/** The time in which the child stands still does not count. */
function* inTime(
  attempt: Attempt,
  lane: number,
  { child, key }: Question,
  timeoutMs: number,
  answered: RestatePromise<Heard | Refused>,
): Steps<Heard | Refused> {
  let { stillMs: knownMs } = yield* standstill(attempt, lane, child);
  for (let leftMs = timeoutMs; ;) {
    const timer = attempt.context.sleep(leftMs, key).map(() => undefined);
    const heard = yield* awaiting(RestatePromise.race([answered, timer]), { cut: true });
    if (heard !== undefined) return heard;
    const extended = yield* extending(attempt, lane, child, knownMs, answered);
    if ("over" in extended) return extended.over;
    if (extended.moreMs === undefined) return { silent: true };
    leftMs = extended.moreMs;
    knownMs = extended.stillMs;
  }
}

/** Reads the next message to this execution; null if there is none and `wait` is false. */
export function* reading(
  attempt: Attempt,
  lane: number,
  key: string,
  wait: boolean,
): Steps<InboxMessage | null> {
  const { context, channel } = attempt;
  const before = attempt.recall?.takeUnread();
  if (before !== undefined) return before;
  attempt.flush(lane);
  const delivered = context.awakeable<Delivered<InboxMessage>>(json());
  const bell = context.awakeable<null>(json());
  const asked = context.run(
    "mail",
    async () => {
      const message = { ...attempt.fromNow(lane), key, wait, awakeable: delivered.id, bell: bell.id };
      return { key, mail: await channel.ask("mail", message, attempt.isOver) };
    },
    { serde: json<{ key: string; mail: Mail }>() },
  );
  const { key: recorded, mail } = yield* awaiting(asked, { cut: false });
  attempt.expect(key, recorded);
  attempt.learn(mail);
  attempt.learnMail(mail.hasMore === true, bell.promise);
  attempt.applyStop(mail);
  // The record says that the agent did not wait for a message then. It must not fail now: the agent as it was could still go on.
  if (mail.message === null && wait && mail.gone !== true)
    throw attempt.mismatch({ key, recorded: "no message", requested: "one that it waits for" });
  if (mail.message !== undefined) return mail.message;
  attempt.token.check();
  const { value, standing } = yield* awaiting(delivered.promise, { cut: true });
  attempt.learn(standing);
  return value;
}
