import {
  type AgentAccount,
  errorToJSON,
  InvalidValueError,
  type SerializedError,
  type Spend,
  Supervision,
} from "@ravi/kernel";
import { type Keepers, refuseUnkept } from "@ravi/kernel/loop";
import * as hires from "./hires.ts";
import * as mailing from "./mail.ts";
import type * as messages from "./messages.ts";
import * as money from "./money.ts";
import type { Outbox } from "./outbox.ts";
import { addSpend } from "./spend.ts";
import { type ExecState, newRoot, NOTHING_SPENT, type RootState } from "./state.ts";
import { reasonsOf, statusOf, summaryOf, suspensionIn, waitsOf } from "./summary.ts";
import * as talk from "./talk.ts";
import { accountsOf, accountsWithOpen, rootOf, type TreePorts, TreeSession } from "./tree.ts";

/** The messages to an existing tree. Each is decided at once: no handler waits or throws. */
export const MESSAGES = {
  enter,
  stop,
  end: hires.end,
  hire: hires.hire,
  join: hires.join,
  crashed: hires.crashed,
  over: hires.over,
  park: hires.park,
  waited: hires.waited,
  admit: money.admit,
  raise: money.raise,
  reserve: money.reserve,
  settle: money.settle,
  withdraw: money.withdraw,
  ask: mailing.ask,
  deliver: talk.deliver,
  doubt: talk.doubt,
  mail: mailing.mail,
  reply: mailing.reply,
  resume: talk.resume,
  retry: hires.retry,
  send: mailing.send,
  suspended: talk.suspended,
  want: talk.want,
} as const;

export type MessageName = keyof typeof MESSAGES;
export type Message<N extends MessageName> = Parameters<(typeof MESSAGES)[N]>[1];
export type Answer<N extends MessageName> = Awaited<ReturnType<(typeof MESSAGES)[N]>>;

/** One message of several that are sent together. */
export interface NamedMessage {
  readonly name: MessageName;
  readonly message: { readonly at: number };
}

export interface Decided<A> {
  readonly state: RootState;
  readonly answer: A;
  readonly outbox: Outbox;
  /** Whether what the list of runs shows of it must be updated: its status, what it waits for, or why it stands so has changed. */
  readonly hasNewSummary: boolean;
}

/** Decides one message: returns the next state, the answer and the actions to take. Changes the given state. */
export async function decide<N extends MessageName>(
  state: RootState,
  ports: TreePorts,
  name: N,
  message: Message<N>,
): Promise<Decided<Answer<N>>> {
  const { answer, ...rest } = await decideAll(state, ports, [{ name, message }]);
  return { ...rest, answer: answer[0] as Answer<N> };
}

/** Decides several messages one after the other in one session, because opening a session costs more than most messages. */
export async function decideAll(
  state: RootState,
  ports: TreePorts,
  said: readonly NamedMessage[],
): Promise<Decided<unknown[]>> {
  const before = statusOf(state);
  const shown = shownOf(state);
  const tree = await TreeSession.open(state, ports);
  const answers: unknown[] = [];
  for (const { name, message } of said) answers.push(await act(tree, name, message as never));
  await hires.endUnseated(tree);
  await tree.updateSeats();
  await tree.updateStill();
  tree.seats.keep();
  const answer = await money.withNearLimit(tree, answers);
  const hasNewStatus = statusOf(state) !== before;
  if (hasNewStatus) state.version++;
  const hasNewSummary = hasNewStatus || shownOf(state) !== shown;
  return { state, answer, outbox: tree.outbox, hasNewSummary };
}

/** What the list of runs shows beside the status: what it waits for, and why it stands as it does. */
function shownOf(state: RootState): string {
  const { error, cancelReason } = reasonsOf(state);
  const waits = waitsOf(state).map(({ execId, name }) => `${execId} ${name}`);
  return JSON.stringify([error, cancelReason, waits]);
}

async function act<N extends MessageName>(
  tree: TreeSession,
  name: N,
  message: Message<N>,
): Promise<Answer<N>> {
  tree.advanceTime(message.at);
  if ("used" in message) tree.noteUsed(message.execId, message.used);
  if ("lane" in message) tree.clearSuspension(message.execId, message.lane);
  const handle = MESSAGES[name] as (tree: TreeSession, message: Message<N>) => Promise<Answer<N>>;
  const answer = await handle(tree, message);
  if ("lane" in message) money.forgetMarks(tree, message.execId, message.lane);
  return answer;
}

/**
 * Why a tree is not started here; undefined if it can be. A limit that nobody enforces is refused. Only the worker that has the
 * tree knows what it was given.
 */
export function refusalOf(
  ports: TreePorts,
  { launch, spawns }: messages.StartMessage,
): SerializedError | undefined {
  const { executionBudget } = Supervision.fromJSON(launch.supervision);
  try {
    refuseUnkept(keepersOf(ports), executionBudget, spawns);
    return undefined;
  } catch (error) {
    return errorToJSON(error);
  }
}

/**
 * Throws if this worker cannot enforce the limits that the tree was started with: workers may be configured differently by mistake.
 */
export function checkKeepers(state: RootState, ports: TreePorts): void {
  const { executionBudget } = Supervision.fromJSON(rootOf(state).launch.supervision);
  refuseUnkept({ ...keepersOf(ports), isCounted: true }, executionBudget, undefined);
  if (state.seats === null || ports.headcount !== undefined) return;
  throw new InvalidValueError({
    field: "headcount",
    value: undefined,
    expected: `a headcount on every worker, because run ${state.runId} was started with one`,
  });
}

function keepersOf({ headcount, ledger }: TreePorts): Keepers {
  return { isCounted: headcount !== undefined, isMetered: ledger !== undefined };
}

/** The answer to a start of a tree that exists. It is new if this is the same start again, whose first answer was lost. */
export function startedBefore(
  { startedBy }: RootState,
  { nonce }: Pick<messages.StartMessage, "nonce">,
): messages.Started {
  return { isNew: nonce === startedBy };
}

/** Starts a tree. */
export async function begin(
  ports: TreePorts,
  { launch, at, nonce, stopped }: messages.StartMessage,
): Promise<Decided<messages.Started>> {
  const { agentId, priority } = Supervision.fromJSON(launch.supervision);
  const state = newRoot(launch, { agentId, priority }, { at, nonce });
  const tree = await TreeSession.open(state, ports);
  if (stopped !== undefined) tree.stop(launch.execId, stopped, true);
  if (launch.refused === undefined) tree.launch(launch);
  else await hires.over(tree, { at, execId: launch.execId, outcome: launch.refused, settle: [] });
  tree.seats.keep();
  return { state, answer: { isNew: true }, outbox: tree.outbox, hasNewSummary: true };
}

/** An execution runs, and says how it can be stopped. */
async function enter(tree: TreeSession, message: messages.EnterMessage): Promise<messages.Entered> {
  const exec = tree.exec(message.execId);
  const hasMail = exec !== undefined && exec.mail.length > 0;
  if (exec !== undefined) {
    exec.stop = message.stop;
    exec.bell = hasMail ? undefined : message.bell;
  }
  return { ...(await tree.standing(message.execId)), hasMail };
}

async function stop(tree: TreeSession, message: messages.StopMessage): Promise<messages.StopAnswer> {
  const why = { ...message.stopped, reason: message.stopped.reason ?? "no reason given" };
  tree.stop(message.execId ?? tree.state.runId, why, message.alone === true);
  const isDeaf = ({ phase, stopped, suspended, doubts }: ExecState): boolean =>
    phase === "running" && stopped !== undefined && suspended !== undefined && isEmpty(doubts);
  const deaf = Object.entries(tree.state.execs).filter(([, exec]) => isDeaf(exec));
  return { deaf: deaf.map(([execId]) => execId) };
}

function isEmpty(record: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(record).length === 0;
}

/** The standings of a run, for its clients. */
export function runViewOf(state: RootState | null, ports: TreePorts): messages.RunView {
  if (state === null) return { known: false, version: 0, status: "pending" };
  const { version } = state;
  const status = statusOf(state);
  const { agentId, retries } = rootOf(state);
  if (status === "running" || status === "waiting") return { known: true, version, agentId, status, retries };
  return standingsOf(state, ports, accountsOf(state));
}

/** Everything that is known of a run, also while it runs. Null if there is none. */
export function wholeViewOf(state: RootState | null, ports: TreePorts): messages.WholeView | null {
  if (state === null) return null;
  const openCalls = Object.entries(state.execs).flatMap(([execId, { marks }]) =>
    Object.entries(marks).map(([key, { name = key, at: startedAt = state.startedAt }]) => {
      return { execId, key, name, startedAt };
    }),
  );
  return { ...standingsOf(state, ports, accountsWithOpen(state)), summary: summaryOf(state), openCalls };
}

function standingsOf(
  state: RootState,
  ports: TreePorts,
  accounts: readonly AgentAccount[],
): messages.RunView {
  const { version, result, inDoubt } = state;
  const status = statusOf(state);
  const error = suspensionIn(state);
  const { agentId, launch, raised, retries } = rootOf(state);
  const { supervision } = launch;
  const granted = Object.values(raised).reduce<Spend>(addSpend, NOTHING_SPENT);
  const rest = {
    error,
    result,
    inDoubt,
    // If a layer has answered for the root, no agent has begun.
    accounts: launch.refused === undefined ? accounts : [],
    supervision,
    granted,
    used: usedBy(state),
  };
  return { known: true, version, agentId, status, retries, ...rest, ...keepersOf(ports) };
}

/** What the whole tree has spent. Executions that are over have left their sum to one above them. */
function usedBy(state: RootState): Spend {
  const living = Object.values(state.execs).filter(
    ({ phase, parent }) => phase !== "over" && parent !== null,
  );
  return living.reduce((sum, { own }) => addSpend(sum, own), rootOf(state).own);
}
