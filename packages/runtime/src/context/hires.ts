import {
  DeadlineExceededError,
  type HireOutcome,
  InvalidValueError,
  type JsonValue,
  type RunHandle,
  ToolError,
} from "@ravi/kernel";
import { admitRun } from "./admit-run.ts";
import type { Child } from "./child.ts";
import type { Execution } from "./execution.ts";
import { Hire, takePlace, type Terms } from "./hire.ts";
import { planFor } from "./plan.ts";
import { delay, orStopped } from "./waits.ts";

/** A seat, then the child's whole run. */
export async function hire(exec: Execution, terms: Terms): Promise<HireOutcome> {
  const child = await startHire(exec, terms, false);
  return child instanceof Hire ? inTime(exec, child, terms) : child;
}

export async function spawn(exec: Execution, terms: Terms): Promise<RunHandle> {
  const hired = await startHire(exec, terms, true);
  if (hired instanceof Hire) return hired.child.handle;
  if ("error" in hired) throw hired.error;
  throw new TypeError("a hire ended before it began");
}

export async function join(exec: Execution, handle: RunHandle): Promise<HireOutcome> {
  return orStopped(exec, childOf(exec, handle).outcome);
}

/** Says something to a living child. Sent again after a crash it has the same id, and the child reads it once. */
export async function ask(
  exec: Execution,
  key: string,
  handle: RunHandle,
  message: JsonValue,
  timeoutS: number | undefined,
): Promise<JsonValue> {
  const limit = secondsOf("ask.timeoutS", timeoutS);
  const child = childOf(exec, handle);
  // That nobody answered is on record like an answer, so that a replay hears the same.
  const heard = (await exec.engine.fact(key, () => replyOf(exec, key, child, message, limit))) as Heard;
  if ("reply" in heard) return heard.reply;
  throw new ToolError({
    toolName: handle.agentId,
    message: `no reply from ${handle.agentId} in time`,
    retryable: true,
  });
}

type Heard = { readonly reply: JsonValue } | { readonly silent: true };

async function replyOf(
  exec: Execution,
  key: string,
  { inbox, outcome }: Child,
  message: JsonValue,
  limit: number | undefined,
): Promise<Heard> {
  if (inbox === undefined) return { silent: true };
  const id = `${exec.execId}:${key}`;
  inbox.deliver({ id, from: exec.agentId, content: message, at: exec.tree.ports.clock.now() });
  const reply = inbox.replyTo(id).then((value): Heard => ({ reply: value }));
  // Who has ended without a reply will not give one.
  const over = outcome.then((): Heard => ({ silent: true }));
  const timer = limit === undefined ? undefined : delay(exec, limit);
  try {
    const late = timer === undefined ? [] : [timer.promise.then((): Heard => ({ silent: true }))];
    return await orStopped(exec, Promise.race([reply, over, ...late]));
  } finally {
    timer?.cancel();
  }
}

function childOf(exec: Execution, handle: RunHandle): Child {
  const child = exec.children.get(handle.execId);
  if (child !== undefined) return child;
  throw new InvalidValueError({
    field: "handle",
    value: handle.execId,
    expected: `a child of ${exec.execId}`,
  });
}

/** Waits for a child, but no longer than its hire says. */
async function inTime(exec: Execution, hired: Hire, terms: Terms): Promise<HireOutcome> {
  const limit = secondsOf("hire.timeoutS", terms.timeoutS);
  const { handle, outcome } = hired.child;
  const lateKey = `late:${hired.key}`;
  if (exec.engine.isRecorded(lateKey)) {
    await exec.engine.fact(lateKey, () => true);
    return { status: "timedOut", handle };
  }
  if (limit === undefined) return orStopped(exec, outcome);
  const { clock } = exec.tree.ports;
  // Time in which the child had no seat does not count: each part of it is waited for again.
  for (let left = limit, counted = 0; left > 0;) {
    const timer = delay(exec, left);
    const first = await orStopped(exec, Promise.race([outcome, timer.promise])).finally(() => timer.cancel());
    if (first !== undefined) return first;
    const parked = hired.parkedMs(clock.now());
    left = parked - counted;
    counted = parked;
  }
  if (terms.onTimeout === "leave") {
    await exec.engine.fact(lateKey, () => true);
    return { status: "timedOut", handle };
  }
  hired.cancel(new DeadlineExceededError({ deadline: exec.tree.ports.clock.now() }));
  return outcome;
}

function secondsOf(field: string, seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw new InvalidValueError({ field, value: seconds, expected: "seconds above 0" });
}

/** The hire with its child, or why there is none. */
async function startHire(exec: Execution, wanted: Terms, isJoinable: boolean): Promise<Hire | HireOutcome> {
  const { tree } = exec;
  const { agent } = wanted;
  secondsOf("hire.timeoutS", wanted.timeoutS);
  const place = takePlace(exec, agent);
  const who = { agentId: agent.id, runId: tree.runId, sessionId: exec.supervision.sessionId };
  const { input, refused } = await admitRun(
    planFor(agent, tree.ports),
    tree.ports,
    exec.meta,
    who,
    wanted.input,
  );
  const hired = new Hire(exec, place, { ...wanted, input }, isJoinable);
  if (refused !== undefined) return hired.answeredBy(refused);
  const ended = exec.engine.effect(hired);
  hired.watch(ended);
  await Promise.race([hired.started.promise, ended]);
  return hired.hasChild ? hired : ended;
}
