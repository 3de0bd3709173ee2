import type { RunEvent, RunId } from "@ravi/kernel";
import type { Ingress } from "../ingress.ts";
import { ROOT, TOPIC } from "../names.ts";
import { pause } from "../pause.ts";
import type { RunView } from "../root/messages.ts";
import { unknownRun } from "../root/unknown-run.ts";
import { FIRST } from "../topic/log.ts";
import type { Page, ReadMessage } from "../topic/object.ts";
import { poll, pollDelay } from "./poll.ts";

/**
 * What is on record of a run, as events: of one that is over, all of them, which may take a moment to arrive. Throws an `InvalidValueError`
 * if the server does not know the run.
 */
export async function recordOf(ingress: Ingress, runId: RunId, signal: AbortSignal): Promise<RunEvent[]> {
  const root = { service: ROOT, key: runId, handler: "standings" };
  const topic = { service: TOPIC, key: runId, handler: "read" };
  const events: RunEvent[] = [];
  for (let polls = 0; ; polls++) {
    const { known, status } = await poll<RunView>(ingress, root, null, signal);
    if (!known) throw unknownRun(runId);
    for (;;) {
      const asked: ReadMessage = { from: FIRST + events.length, isRecord: true };
      const page = await poll<Page>(ingress, topic, asked, signal);
      events.push(...page.events);
      if (page.isClosed) return events;
      if (page.events.length === 0) break;
    }
    if (status !== "over") return events;
    await pause(pollDelay(polls), signal);
  }
}
