import * as restate from "@restatedev/restate-sdk";
import type { JsonObject } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { json } from "../json.ts";
import { ROOT, STATE, SUMMARY, TOPIC, WATCHER } from "../names.ts";
import { OBJECT_RETRIES } from "../retries.ts";
import {
  begin,
  checkKeepers,
  decide,
  decideAll,
  type Decided,
  type MessageName,
  MESSAGES,
  refusalOf,
  type NamedMessage,
  runViewOf,
  startedBefore,
  wholeViewOf,
} from "./decide.ts";
import { type StartMessage, workflowOf } from "./messages.ts";
import { checkFormat, type RootState } from "./state.ts";
import { waitingEnds } from "./hires.ts";
import { STATE_SERDE } from "./state-serde.ts";
import { summaryOf } from "./summary.ts";
import { rootOf, type TreePorts } from "./tree.ts";
import { UNKNOWN } from "./unknown-run.ts";

type Handler = (context: restate.ObjectContext, message: JsonObject) => Promise<unknown>;
type Several = (
  context: restate.ObjectContext,
  message: { readonly said: readonly NamedMessage[] },
) => Promise<unknown>;

/**
 * The effect of a message is in the state, so neither its journal nor its answer is kept. (The server gives each message that comes from
 * outside an idempotency key, and would keep the answer for a day.)
 */
const NO_JOURNAL = { journalRetention: 0, idempotencyRetention: 0 } as const;

/**
 * The object of one tree: its headcount, its money and the marks of calls that were begun. A handler reads the state, decides,
 * writes the state and sends what follows from it. It waits for nothing, so it does not block other messages. The exception is a
 * worker that lacks what the tree was started with, or does not know its format: then the server retries until another one answers.
 */
export function rootObject(ports: TreePorts): restate.VirtualObjectDefinition<typeof ROOT, unknown> {
  const start: Handler = async (context, message) => {
    const asked = message as JsonObject & StartMessage;
    const state = await readState(context);
    if (state !== null) return startedBefore(state, asked);
    const refused = refusalOf(ports, asked);
    return refused === undefined ? apply(context, () => begin(ports, asked)) : { isNew: false, refused };
  };
  const forget: Handler = async (context) => {
    const state = await readState(context);
    if (state === null || state.result === undefined) return { isGone: state === null };
    for (const awakeable of waitingEnds(state)) context.resolveAwakeable(awakeable, null);
    context.clearAll();
    sendToTopic(context, "forget");
    return { isGone: true };
  };
  const standings = async (context: restate.ObjectSharedContext): Promise<unknown> =>
    runViewOf(await readState(context), ports);
  const report = async (context: restate.ObjectSharedContext): Promise<unknown> =>
    wholeViewOf(await readState(context), ports);
  const handlers: Record<string, Handler> = {
    start: restate.handlers.object.exclusive(NO_JOURNAL, start),
    forget: restate.handlers.object.exclusive(NO_JOURNAL, forget),
    standings: restate.handlers.object.shared(NO_JOURNAL, standings),
    report: restate.handlers.object.shared(NO_JOURNAL, report),
  };
  for (const name of Object.keys(MESSAGES) as MessageName[]) {
    const handler: Handler = async (context, message) => {
      const state = await readState(context);
      if (state === null) return unknown(context, name, message);
      checkKeepers(state, ports);
      return apply(context, () => decide(state, ports, name, message as never));
    };
    handlers[name] = restate.handlers.object.exclusive(NO_JOURNAL, handler);
  }
  const several: Several = async (context, { said }) => {
    const state = await readState(context);
    if (state === null) return said.map(() => UNKNOWN);
    checkKeepers(state, ports);
    return apply(context, () => decideAll(state, ports, said));
  };
  return restate.object({
    name: ROOT,
    options: { retryPolicy: OBJECT_RETRIES },
    handlers: { ...handlers, several: restate.handlers.object.exclusive(NO_JOURNAL, several) },
  });
}

/** The answer of a run that is not known. Whoever sent a message without waiting for its answer waits for an awakeable in it. */
function unknown(context: restate.ObjectContext, name: MessageName, message: JsonObject): typeof UNKNOWN {
  const awakeable = name === "join" ? message["over"] : message["awakeable"];
  if ((name === "join" || name === "ask") && typeof awakeable === "string")
    context.resolveAwakeable(awakeable, UNKNOWN);
  return UNKNOWN;
}

/** Null if there is none. One of another format is left to a worker that knows it: the server retries until one answers. */
async function readState(context: restate.ObjectSharedContext): Promise<RootState | null> {
  const state = await context.get<RootState>(STATE, STATE_SERDE);
  if (state !== null) checkFormat(state);
  return state;
}

async function apply<A>(context: restate.ObjectContext, make: () => Promise<Decided<A>>): Promise<A> {
  let decided: Decided<A>;
  try {
    decided = await make();
  } catch (error) {
    // A bug in a tracker must not block the object: the sender gets the error, and the next message is processed.
    throw new restate.TerminalError(messageOf(error));
  }
  const { state, outbox, answer } = decided;
  context.set(STATE, state, STATE_SERDE);
  if (decided.hasNewSummary) context.set(SUMMARY, summaryOf(state));
  for (const { awakeable, value } of outbox.resolved) context.resolveAwakeable(awakeable, value);
  const { retries = 0 } = rootOf(state);
  if (outbox.isOver) sendToTopic(context, "close", { retries });
  if (outbox.isAgain) sendToTopic(context, "open", { retries });
  for (const launch of outbox.launched) {
    const key = workflowOf(launch);
    context.genericSend({ service: WATCHER, method: "run", key, parameter: launch, inputSerde: json() });
  }
  return answer;
}

function sendToTopic(
  context: restate.ObjectContext,
  method: "open" | "close" | "forget",
  parameter: JsonObject | null = null,
): void {
  context.genericSend({ service: TOPIC, method, key: context.key, parameter, inputSerde: json() });
}
