import type { RunEvent, RunId } from "@ravi/kernel";
import type { Ingress } from "../ingress.ts";
import { ROOT, TOPIC } from "../names.ts";
import { pause } from "../pause.ts";
import type { RunView } from "../root/messages.ts";
import { unknownRun } from "../root/unknown-run.ts";
import type { CallEntry } from "../execution/record.ts";
import { FIRST } from "../topic/log.ts";
import type { Page, ReadMessage } from "../topic/object.ts";
import { poll, pollDelay } from "./poll.ts";

/** An event, or a call that has ended. */
export type RecordEntry = RunEvent | (Omit<RunEvent, "event"> & { readonly event: CallEntry });

/** The events of a record, numbered without gaps. */
export function eventsIn(entries: readonly RecordEntry[]): RunEvent[] {
  const events = entries.filter((entry): entry is RunEvent => entry.event.type !== "call");
  return events.map((event, before) => ({ ...event, seq: before + 1 }));
}

/**
 * What is on record of a run: of one that is over, all of them, which may take a moment to arrive. Throws an `InvalidValueError`
 * if the server does not know the run.
 */
export async function recordOf(ingress: Ingress, runId: RunId, signal: AbortSignal): Promise<RecordEntry[]> {
  const root = { service: ROOT, key: runId, handler: "standings" };
  const topic = { service: TOPIC, key: runId, handler: "read" };
  const entries: RecordEntry[] = [];
  for (let polls = 0; ; polls++) {
    const { known, status } = await poll<RunView>(ingress, root, null, signal);
    if (!known) throw unknownRun(runId);
    for (;;) {
      const asked: ReadMessage = { from: FIRST + entries.length, isRecord: true };
      const page = await poll<Page>(ingress, topic, asked, signal);
      entries.push(...page.events);
      if (page.isClosed) return entries;
      if (page.events.length === 0) break;
    }
    if (status !== "over") return entries;
    await pause(pollDelay(polls), signal);
  }
}
