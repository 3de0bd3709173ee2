import type { ModelEvent, ModelResponse, Usage } from "@ravi/kernel";
import { field, isObject, listOf, stringOr, uniqueIds, UnusableAnswer } from "@ravi/kernel/provider";
import { greatestUsage } from "../answer/greatest-usage.ts";
import { errorIn, ReportedError } from "../failure/reported-error.ts";
import type { Answer } from "../wire/protocol.ts";
import { type Draft, type Drafts, makeDrafts } from "./drafts.ts";
import { emitRest } from "./emit.ts";
import { readEvent } from "./events.ts";
import { finishReasonOf } from "./finish.ts";
import { messageOf, type OutputItem, readItem } from "./output.ts";
import { unrepeated } from "./repeats.ts";
import { unclosed } from "./unclosed.ts";
import { readUsage } from "./usage.ts";

/**
 * Collects an answer of the Responses API. While it is streamed, each event is added to the draft of its item, and what is new is
 * emitted at once. The last event has the whole response, which is what counts. If that has no items, the items are used as the
 * server closed them, or as far as they came.
 */
export function collectResponse(provider: string): Answer {
  const drafts = makeDrafts();
  const ids = uniqueIds();
  const fresh = unrepeated();
  let id: string | undefined;
  let model: string | undefined;
  let usage: Usage | undefined;
  let result: ModelResponse | undefined;

  const readHead = (response: unknown): void => {
    id = stringOr(field(response, "id"), id);
    model = stringOr(field(response, "model"), model);
    const spent = readUsage(field(response, "usage"));
    if (spent !== undefined) usage = greatestUsage(usage, spent);
  };
  const read = (event: unknown, type: string): ModelEvent[] =>
    fresh(event, type).flatMap((each) => readEvent(each.event, each.type, { drafts, ids }));
  const close = (response: unknown, status: string): ModelEvent[] => {
    readHead(response);
    const final = finalItems(response, status, drafts);
    // This also announces the calls that were not announced yet, so that every call has an id.
    const events = final.flatMap(({ item, draft }) => emitRest(draft, item, ids));
    const items = final.map(({ item }) => item);
    const calls = final.filter(({ item }) => item.type === "function_call");
    // Without usage at the end, the output count is not known: no usage is reported, and the reservation is charged.
    const isCounted = readUsage(field(response, "usage")) !== undefined;
    result = {
      message: messageOf(
        items,
        calls.map(({ draft }) => draft.announcedId ?? ""),
        provider,
      ),
      finishReason: finishReasonOf({
        status,
        reason: stringOr(field(field(response, "incomplete_details"), "reason"), undefined),
        refused: items.some((item) => item.type === "message" && item.refused),
        hasCalls: calls.length > 0,
        isCut: items.some((item) => item.type === "function_call" && item.isCut),
      }),
      ...(usage !== undefined && isCounted ? { usage } : {}),
      ...(model === undefined ? {} : { model }),
      ...(id === undefined ? {} : { id }),
    };
    return events;
  };
  return {
    add(event, name) {
      if (result !== undefined) return [];
      const type = stringOr(field(event, "type"), name);
      const error = errorIn(event);
      if (type === "error" || name === "error" || (error !== undefined && !type.startsWith("response.")))
        throw new ReportedError(error ?? event);
      if (!isObject(event)) throw new UnusableAnswer("the server sent JSON that is not an object");
      const inner = field(event, "response");
      switch (type) {
        case "response.completed":
        case "response.incomplete": {
          if (!isObject(inner) && drafts.all().length === 0)
            throw new UnusableAnswer("the stream ended without a response object");
          const said = statusOf(inner);
          // Some servers send a response with the status `completed` in an `incomplete` event. It counts as incomplete.
          return [
            ...read(event, type),
            ...close(inner, type === "response.incomplete" ? "incomplete" : said),
          ];
        }
        case "response.failed":
        case "response.cancelled":
          readHead(inner);
          throw new ReportedError(field(inner, "error") ?? `the server reported ${type}`);
        default:
          if (inner !== undefined) readHead(inner);
          return read(event, type);
      }
    },
    addWhole(body) {
      const status = statusOf(body);
      if (!isObject(body)) throw new UnusableAnswer("the server sent JSON that is not an object");
      if (!Array.isArray(field(body, "output")))
        throw new UnusableAnswer("the server sent a response without output");
      return close(body, status);
    },
    isFinished: () => result !== undefined,
    hasWorked: () => usage !== undefined || drafts.all().length > 0,
    isOver: () => result !== undefined,
    finish() {
      if (result === undefined) throw new UnusableAnswer("the answer is incomplete");
      return [{ type: "finish", response: result }];
    },
  };
}

interface FinalItem {
  readonly item: OutputItem;
  readonly draft: Draft;
}

/** The items that count, each with its draft: those of the response, or the streamed ones if it has none. */
function finalItems(response: unknown, status: string, drafts: Drafts): FinalItem[] {
  const output = listOf(field(response, "output")).filter(isObject);
  const isWhole = output.length > 0;
  const items = isWhole ? output : drafts.all().map((draft) => draft.closedItem ?? unclosed(draft, status));
  const matching = isWhole ? drafts.match(output) : drafts.all();
  return items.flatMap((raw, position) => {
    const item = readItem(raw);
    const draft = matching[position];
    return item === undefined || draft === undefined ? [] : [{ item, draft }];
  });
}

/** How the response ended. Throws if it failed or has not ended. */
function statusOf(response: unknown): string {
  const error = errorIn(response);
  if (error !== undefined) throw new ReportedError(error);
  const status = stringOr(field(response, "status"), "completed");
  if (status === "completed" || status === "incomplete") return status;
  throw new UnusableAnswer(
    `the server sent a response with the status ${status.slice(0, 40)} instead of an answer`,
  );
}
