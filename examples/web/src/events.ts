import type { Turn } from "./turn.ts";
import { UiMessage, type UiPart } from "./ui-messages.ts";

/** How long a browser waits before it connects again. */
const RETRY_MS = 500;

/**
 * The events of a turn as they are. Each has an id, `<list>-<number>`, which a browser sends as `Last-Event-ID` when it connects again: it
 * then gets what comes after that. If the turn was resumed meanwhile its events are told anew: `reset` says so, and all of them follow.
 * `end` is the last one; a stream that breaks off without it is to be read again.
 */
export async function* rawEvents(
  turn: Turn,
  lastEventId: string | undefined,
  left: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { log } = turn;
  const at = lastEventId?.lastIndexOf("-") ?? -1;
  const isSame = lastEventId?.slice(0, Math.max(0, at)) === log.name;
  const number = Number(lastEventId?.slice(at + 1));
  const after = isSame && Number.isSafeInteger(number) && number >= 0 ? number : 0;
  yield `retry: ${RETRY_MS}\n\n`;
  if (lastEventId !== undefined && after === 0) yield "event: reset\ndata: {}\n\n";
  for await (const event of log.read(after, left))
    yield `id: ${log.name}-${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
  if (!left.aborted && turn.hasEnded) yield "event: end\ndata: {}\n\n";
}

/**
 * The same turn as the stream of parts that `useChat` reads. It ends where the run waits for answers, which `useChat` sends with a request
 * of its own. With `answered`, it is the response to that: the rest of the message, after the questions with these names.
 */
export async function* uiEvents(
  turn: Turn,
  { needsApproval, answered = [] }: UiOptions,
  left: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const message = new UiMessage(turn.runId, needsApproval);
  let isNew = answered.length === 0;
  let questions: string[] = [];
  yield line(message.start());
  for await (const event of turn.log.read(0, left)) {
    const parts = message.push(event);
    if (isNew) for (const part of parts) yield line(part);
    const asked = parts.flatMap((part) => (part.type === "tool-approval-request" ? [part.approvalId] : []));
    questions.push(...asked);
    if (asked.length === 0 || !message.isWaiting) continue;
    if (!isNew) {
      message.pause();
      isNew = questions.some((name) => answered.includes(name));
    } else if (questions.some((name) => turn.isOpen(name))) {
      for (const part of message.pause()) yield line(part);
      yield DONE;
      return;
    }
    questions = [];
  }
  if (!left.aborted && turn.hasEnded) yield DONE;
}

interface UiOptions {
  /** The tools that somebody has to approve. */
  readonly needsApproval: ReadonlySet<string>;
  readonly answered?: readonly string[] | undefined;
}

const DONE = "data: [DONE]\n\n";

function line(part: UiPart): string {
  return `data: ${JSON.stringify(part)}\n\n`;
}
