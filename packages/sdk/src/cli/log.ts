import { setTimeout as pause } from "node:timers/promises";
import { Runtime, type SqliteJournal } from "@ravi/runtime";
import {
  type AgentEvent,
  type ContentPart,
  InvalidValueError,
  type JsonValue,
  type RunEvent,
  type RunId,
} from "@ravi/sdk";
import { dollars, grouped } from "./amounts.ts";
import { findRun } from "./find.ts";
import { isOpen } from "./list.ts";
import { lookingAt } from "./open.ts";
import type { Request } from "./perform.ts";
import { beginningOf, json, visible } from "./printable.ts";
import { dateOf } from "./time.ts";
import { questionOf } from "./waits.ts";

/** How much is printed of one text. */
const MOST_CHARS = 2_000;

const LOOK_EVERY_MS = 500;

/** What the agents of a run have said and done, one entry after the other. */
export async function logRun({ words: [given = ""], journal, options, print }: Request): Promise<string> {
  const { runId } = await findRun(journal, given, "look");
  const write = (event: RunEvent): string => (options.json === true ? json(event, 0) : entryOf(event));
  return lookingAt(journal, async (open) => {
    const read = async (): Promise<readonly RunEvent[]> => {
      const events = await new Runtime({ journal: open }).recordedEvents(runId);
      return options.json === true ? events : withoutRepeats(events);
    };
    if (options.follow !== true) return (await read()).map(write).join("\n");
    let printed = 0;
    for await (const events of growing(open, runId, read)) {
      for (const event of events.slice(printed)) print(write(event));
      printed = events.length;
    }
    return "";
  });
}

/** A model call that fails is mostly the end of its agent, too, which the record tells with the same words. */
function withoutRepeats(events: readonly RunEvent[]): readonly RunEvent[] {
  const latest = new Map<string, RunEvent>();
  return events.filter((each) => {
    const before = latest.get(each.execId);
    latest.set(each.execId, each);
    return (
      each.event.type !== "error" ||
      before?.event.type !== "error" ||
      wordsOf(each.event) !== wordsOf(before.event)
    );
  });
}

/** What is on record, each time that it has grown, until the run is over. */
async function* growing<T>(open: SqliteJournal, runId: RunId, read: () => Promise<T>): AsyncGenerator<T> {
  let known = 0;
  for (;;) {
    // Asked first: what is recorded meanwhile is read now, and asked for again.
    const summary = await open.summary(runId);
    if (summary === undefined)
      throw new InvalidValueError({
        field: "run",
        value: runId,
        expected: "a run in the journal; it was deleted",
      });
    const { entries, status } = summary;
    const begun = performance.now();
    if (entries > known) yield await read();
    if (!isOpen(status)) return;
    known = entries;
    // A long record is read anew each time, and must not keep a processor busy.
    await pause(Math.max(LOOK_EVERY_MS, 4 * (performance.now() - begun)));
  }
}

/** `2026-11-18T10:41:05Z lead says: …`. Further lines of a text are indented. */
function entryOf({ at, agentId, event }: RunEvent): string {
  const [first = "", ...more] = shortened(wordsOf(event)).split("\n");
  const time = dateOf(at).replace(/\.\d+Z$/, "Z");
  return [`${time} ${visible(agentId)} ${first}`, ...more.map((line) => `    ${line}`)].join("\n");
}

function shortened(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const shown = beginningOf(text, MOST_CHARS);
  return `${shown}… (${grouped(text.length - shown.length)} more characters: --json)`;
}

function wordsOf(event: AgentEvent): string {
  switch (event.type) {
    case "started":
      return `started: ${event.input}`;
    case "text":
      return `says: ${event.delta}`;
    case "reasoning":
      return `thinks: ${event.delta}`;
    case "usage": {
      const { usage, costUsd } = event;
      const cost = costUsd === null ? "an unknown amount" : dollars(costUsd);
      return `used ${grouped(usage.inputTokens)} + ${grouped(usage.outputTokens)} tokens, ${cost}`;
    }
    case "toolCall":
      return `calls ${visible(`${event.call.name} ${event.call.arguments}`)}`;
    case "toolResult":
      return `gets from ${visible(event.name)}: ${contentOf(event.content)}`;
    case "handoff":
      return `hires ${visible(event.to)}: ${event.task}`;
    case "completed": {
      const { status, stopReason, output } = event.result;
      return `${stopReason === "done" ? status : `${status} (${stopReason})`}: ${output}`;
    }
    case "error":
      return `${event.error.code ?? "error"}: ${event.error.message}`;
    case "progress":
      return progressWords(event);
    default:
      return event.type;
  }
}

/** The texts of a result, and what it has beside them, each from a new line. */
function contentOf(content: string | readonly ContentPart[]): string {
  return typeof content === "string" ? content : content.map(partWords).join("\n");
}

function partWords(part: ContentPart): string {
  if (part.type === "image") return "(an image)";
  return part.type === "file" ? `(a file: ${visible(part.name ?? part.mediaType)})` : part.text;
}

/** A record tells two kinds of progress. */
function progressWords({ name, data }: Extract<AgentEvent, { type: "progress" }>): string {
  if (name === "quietAnswer") {
    const { text, reasoning } = data as { readonly text?: string; readonly reasoning?: string };
    return `says quietly: ${text ?? reasoning}`;
  }
  const asked = data as { readonly name: string; readonly question: JsonValue };
  const question = asked.question ?? asked.name;
  return `asks for approval: ${questionOf({ kind: "approval", question })}`;
}
