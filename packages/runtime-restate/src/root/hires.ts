import { errorToJSON, InvalidValueError, type JsonObject, type SerializedError } from "@ravi/kernel";
import {
  type CrashedMessage,
  type EndMessage,
  type Hired,
  type HireMessage,
  type JoinMessage,
  type Launch,
  type OverMessage,
  type ParkMessage,
  type Retried,
  type RetryMessage,
  type Standing,
  type Stopped,
  type Waited,
  type WaitedMessage,
  workflowKey,
} from "./messages.ts";
import { dropMail, takeEarlyMail } from "./mail.ts";
import { fitOutcome, noRoomFor } from "./outcome-size.ts";
import { drop, type ExecState, newExec, type RootState } from "./state.ts";
import { stopError } from "./stop-error.ts";
import { endOf } from "./summary.ts";
import { forgetDecisions } from "./talk.ts";
import { rootOf, usageBelow, type TreeSession } from "./tree.ts";

/** Gives a child its seat and account and starts it, or denies it. The same child is hired only once. */
export async function hire(tree: TreeSession, message: HireMessage): Promise<Hired> {
  const { state, seats } = tree;
  const { execId, launch, over: awakeable, agentId, priority, budget, onFull, isJoinable } = message;
  const parent = tree.exec(execId);
  const known = tree.exec(launch.execId);
  const isAgain = message.isAgain === true && known?.phase === "over" && known.isKept === true;
  if (known !== undefined && !isAgain) {
    if (known.outcome !== undefined) tree.resolve(awakeable, outcomeToldAgain(launch.execId, known.outcome));
    return {};
  }
  if (parent === undefined || !tree.enterLane(execId, message.lane)) {
    return { denied: refusal({ reason: `${execId} is over, or continues in a newer attempt` }) };
  }
  if (parent.stopped !== undefined) return { denied: refusal(parent.stopped) };
  const refused = tree.ledgers.refusal(execId, budget, agentId);
  if (refused !== undefined) return { denied: refused };
  // Whoever waits for a slot waits in the state, with all that it is started with.
  const full =
    onFull === "queue" ? noRoomFor("hire.input, with those that wait for a slot", state, launch) : undefined;
  if (full !== undefined) return { denied: full };
  const seating = await seats.take(agentId, priority, parent.agentId, onFull);
  if (typeof seating === "object") return { denied: seating.denied };
  const phase = seating === "held" ? "running" : "queued";
  const exec = known ?? newExec({ parent: execId, agentId, priority, budget, launch, phase, isJoinable });
  if (known !== undefined) exec.launch = reopen(tree, known, launch, phase);
  if (awakeable !== undefined) exec.joiners.push(awakeable);
  exec.mail = takeEarlyMail(state, launch.execId);
  state.execs[launch.execId] = exec;
  state.entries++;
  if (phase === "running") {
    if (exec.launch !== null) tree.launch(exec.launch);
    exec.launch = null;
  }
  return {};
}

/** What somebody who hires a child again is told that is over, and cannot go on. */
function outcomeToldAgain(execId: string, outcome: JsonObject): JsonObject {
  if ("result" in outcome || "failure" in outcome) return outcome;
  return { status: "failed", failure: refusal({ reason: `${execId} is over, and cannot be continued` }) };
}

/**
 * Continues a run that has failed. Nothing happens if it is under way, has ended in another way, or was continued by the same message
 * before.
 */
export async function retry(tree: TreeSession, { nonce }: RetryMessage): Promise<Retried> {
  const { state } = tree;
  const root = rootOf(state);
  const exec = tree.exec(state.runId);
  const { retries = 0 } = root;
  const hasFailed = state.result !== undefined && endOf(state.result["status"]) === "failed";
  if (exec === undefined || !hasFailed || state.retriedBy === nonce) return { retries };
  const others = Object.values(state.execs).filter(
    ({ phase, parent }) => parent !== null && phase !== "over",
  );
  if (exec.isKept !== true || others.length > 0) {
    const expected =
      others.length > 0
        ? "a run whose agents have all ended; try again in a moment"
        : "a run that has ended by itself; nothing is kept of one that was killed at the server";
    return { refused: errorToJSON(new InvalidValueError({ field: "runId", value: state.runId, expected })) };
  }
  state.retriedBy = nonce;
  state.result = undefined;
  state.entries++;
  tree.outbox.isAgain = true;
  tree.launch(reopen(tree, exec, root.launch, "running"));
  return { retries: retries + 1 };
}

/** An execution that was over goes on. Returns what it is started with. */
function reopen(tree: TreeSession, exec: ExecState, launch: Launch, phase: ExecState["phase"]): Launch {
  const { retries = 0, account } = exec;
  const before = workflowKey(launch.execId, retries);
  tree.ledgers.reopen(exec);
  if (account !== undefined) {
    const { usage, costUsd, modelCalls, toolCalls, retries: repeated, wasteUsd } = account;
    exec.used = { usage, costUsd, modelCalls, toolCalls, retries: repeated, wasteUsd };
  }
  exec.account = exec.outcome = exec.crashes = exec.isKept = undefined;
  exec.stopped = exec.stop = exec.hasEnded = undefined;
  exec.phase = phase;
  exec.retries = retries + 1;
  return { ...launch, again: { n: exec.retries, before } };
}

/** An execution has ended, in whatever way: its seat is released, its money is counted, and everyone who waits for it is told. */
export async function over(tree: TreeSession, message: OverMessage): Promise<null> {
  const { state, seats, ledgers } = tree;
  const { execId, account } = message;
  const exec = tree.exec(execId);
  if (exec === undefined || exec.phase === "over" || (message.retry ?? 0) !== (exec.retries ?? 0))
    return null;
  exec.phase = "over";
  exec.account = account;
  exec.isKept = message.isKept === true ? true : undefined;
  if (account !== undefined) exec.used = undefined;
  const { stopped } = exec;
  const isCancelled = message.isKilled === true && stopped !== undefined;
  // What it was given takes no room from its outcome. Nobody can join its children any more, so their outcomes need not be kept; nor need
  // what was delivered early to a whole run.
  exec.given = {};
  dropMail(state, exec);
  if (exec.isKept === undefined) for (const child of tree.childrenOf(execId)) forgetOutcome(tree.exec(child));
  if (exec.parent === null) {
    state.signals = {};
    // Only a run that has failed goes on.
    if (exec.isKept === undefined) for (const each of Object.values(state.execs)) forgetOutcome(each);
  }
  const ending = isCancelled
    ? { status: "cancelled", failure: refusal(stopped) }
    : fitOutcome(state, execId, message.outcome);
  tree.keepWarnings(execId, await tree.settle(execId, message.settle));
  await ledgers.close(execId);
  const outcome: JsonObject = { ...ending, ...usageBelow(state, execId), at: state.at };
  exec.outcome = outcome;
  exec.wants = {};
  for (const key of Object.keys(exec.marks))
    if (exec.isKept === undefined || !Object.hasOwn(exec.doubts, key)) drop(exec.marks, key);
  exec.doubts = {};
  exec.questions = undefined;
  forgetDecisions(state, execId);
  exec.suspended = undefined;
  // An execution that dies without its `end` message leaves no children running.
  for (const child of tree.childrenOf(execId))
    tree.stop(child, { reason: `${exec.agentId} has ended`, isOfEnd: true }, false);
  for (const awakeable of Object.values(exec.askers)) tree.resolve(awakeable, { silent: true, ended: true });
  exec.askers = {};
  exec.parked = [];
  exec.watchers = undefined;
  for (const joiner of exec.joiners) tree.resolve(joiner, outcome);
  exec.joiners = [];
  const parent = tree.exec(exec.parent ?? "");
  const isAlone = parent === undefined || parent.phase === "over";
  if ((exec.isJoinable === false || isAlone) && !mayAskAgain(parent)) forgetOutcome(exec);
  // The root of a run that may go on keeps its seat: everybody else is out.
  if (exec.parent !== null || exec.isKept === undefined) await seats.release(exec.agentId);
  if (exec.parent === null) {
    state.result = outcome;
    tree.outbox.isOver = true;
  } else endIfAlone(tree, exec.parent);
  state.entries++;
  return null;
}

/** Whether a parent that is told of a child's end may not hear it, and ask again when its run is retried. */
function mayAskAgain(parent: ExecState | undefined): boolean {
  return parent?.hasEnded === true || parent?.stopped?.isOfEnd === true || parent?.isKept === true;
}

/** Keeps only the status, because every message carries the whole state. */
function forgetOutcome(exec: ExecState | undefined): void {
  if (exec?.outcome !== undefined) exec.outcome = { status: exec.outcome["status"] ?? null };
}

/**
 * Ends executions that were stopped while they waited for their first seat: they have not begun, and must not begin without a seat.
 */
export async function endUnseated(tree: TreeSession): Promise<void> {
  for (const [execId, exec] of Object.entries(tree.state.execs)) {
    const { phase, stopped } = exec;
    if (phase !== "queued" || stopped === undefined) continue;
    exec.launch = null;
    const { retries } = exec;
    const isKept = retries !== undefined && stopped.isOfEnd;
    const outcome = outcomeOf(stopped);
    await over(tree, { at: tree.state.at, execId, outcome, settle: [], retry: retries, isKept });
    // What it did before is still where it was.
    if (retries !== undefined) exec.retries = retries === 1 ? undefined : retries - 1;
  }
}

function outcomeOf(stopped: Stopped): JsonObject {
  if (stopped.deadline === undefined) return { status: "cancelled", failure: refusal(stopped) };
  return { status: "partial", result: { status: "partial", output: "", stopReason: "deadline" } };
}

/** Reports the end of a child to a waiting execution, now or later. */
export async function join(tree: TreeSession, { child, over: awakeable }: JoinMessage): Promise<null> {
  const exec = tree.exec(child);
  if (exec === undefined)
    tree.resolve(awakeable, {
      status: "failed",
      failure: refusal({ reason: `there is no execution ${child}` }),
    });
  else if (exec.outcome !== undefined) tree.resolve(awakeable, exec.outcome);
  else if (!exec.joiners.includes(awakeable)) exec.joiners.push(awakeable);
  return null;
}

/** How long a child stood still. Its parent's timeout does not count that time. */
export async function waited({ state }: TreeSession, { child, moved }: WaitedMessage): Promise<Waited> {
  const exec = state.execs[child];
  const { stillMs = 0, stillSince } = exec ?? {};
  const isStill = stillSince !== undefined;
  if (exec !== undefined && isStill && moved !== undefined && exec.watchers?.includes(moved) !== true)
    exec.watchers = [...(exec.watchers ?? []), moved];
  return { stillMs: stillMs + (isStill ? state.at - stillSince : 0), isStill, ...usageBelow(state, child) };
}

/** Counts the crashes of an agent's own code, over all workers. */
export async function crashed(
  tree: TreeSession,
  { execId, nonce }: CrashedMessage,
): Promise<{ crashes: number }> {
  const exec = tree.exec(execId);
  if (exec === undefined) return { crashes: 0 };
  const count = exec.crashes?.count ?? 0;
  if (exec.crashes?.nonce !== nonce) exec.crashes = { count: count + 1, nonce };
  return { crashes: exec.crashes?.count ?? 0 };
}

/** The agent has ended: its remaining children are stopped, and it is told when the last one has ended. */
export async function end(tree: TreeSession, { execId, awakeable }: EndMessage): Promise<{ alone: boolean }> {
  const exec = tree.exec(execId);
  if (exec === undefined) return { alone: true };
  for (const child of tree.childrenOf(execId))
    tree.stop(child, { reason: "its parent has ended", isOfEnd: true }, false);
  exec.ender = awakeable;
  exec.hasEnded = true;
  dropMail(tree.state, exec);
  return { alone: endIfAlone(tree, execId) };
}

/** What executions wait for that have ended, and whose children have not. Nobody tells them any more when the run is deleted. */
export function waitingEnds({ execs }: RootState): string[] {
  return Object.values(execs).flatMap(({ ender }) => (ender === undefined ? [] : [ender]));
}

/** The execution lost its seat. It is told when it has one again. */
export async function park(tree: TreeSession, { execId, awakeable }: ParkMessage): Promise<Standing> {
  const exec = tree.exec(execId);
  const standing = await tree.standing(execId);
  if (exec !== undefined && standing.paused && !exec.parked.includes(awakeable)) exec.parked.push(awakeable);
  return standing;
}

function endIfAlone(tree: TreeSession, execId: string): boolean {
  const exec = tree.exec(execId);
  const isAlone = tree.childrenOf(execId).every((child) => tree.exec(child)?.phase === "over");
  if (exec === undefined || !isAlone) return false;
  tree.resolve(exec.ender, null);
  exec.ender = undefined;
  return true;
}

function refusal(stopped: Stopped): SerializedError {
  return errorToJSON(stopError(stopped));
}
