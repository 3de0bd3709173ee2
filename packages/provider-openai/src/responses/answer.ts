import type { ModelEvent, ModelResponse, Usage } from "@ravi/kernel";
import { field, isObject, listOf, stringOr, uniqueIds, UnusableAnswer } from "@ravi/kernel/provider";
import { greatestUsage } from "../answer/greatest-usage.ts";
import { ReportedError } from "../failure/reported-error.ts";
import type { Answer } from "../protocol.ts";
import { makeDrafts } from "./drafts.ts";
import { tellEvent } from "./events.ts";
import { finishReasonOf } from "./finish.ts";
import { messageOf, readItem } from "./output.ts";
import { unrepeated } from "./repeats.ts";
import { catchUp } from "./telling.ts";
import { unclosed } from "./unclosed.ts";
import { readUsage } from "./usage.ts";

/**
 * An answer of the Responses API. The events are told as they come; what counts in the end is the response of the last one,
 * and where that has no items, the items as they were closed.
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
  const tell = (event: unknown, type: string): ModelEvent[] =>
    fresh(event, type).flatMap((each) => tellEvent(each.event, each.type, { drafts, ids }));
  const close = (response: unknown, status: string): ModelEvent[] => {
    readHead(response);
    const output = listOf(field(response, "output")).filter(isObject);
    const items =
      output.length > 0 ? output : drafts.all().map((draft) => draft.done ?? unclosed(draft, status));
    const matching = output.length > 0 ? drafts.match(output) : drafts.all();
    const events: ModelEvent[] = [];
    const known = items.flatMap((item, position) => {
      const read = readItem(item);
      const draft = matching[position];
      if (read === undefined || draft === undefined) return [];
      events.push(...catchUp(draft, read, ids));
      return [{ read, draft }];
    });
    const calls = known.filter(({ read }) => read.type === "function_call");
    // Without a count at the end, that of the output is not known yet, and what was reserved is charged.
    const isCounted = readUsage(field(response, "usage")) !== undefined;
    result = {
      message: messageOf(
        known.map(({ read }) => read),
        calls.map(({ draft }) => draft.announced ?? ""),
        provider,
      ),
      finishReason: finishReasonOf({
        status,
        reason: stringOr(field(field(response, "incomplete_details"), "reason"), undefined),
        refused: known.some(({ read }) => read.type === "message" && read.refused),
        hasCalls: calls.length > 0,
        isCut: calls.some(({ read }) => read.type === "function_call" && read.isCut),
      }),
      ...(usage !== undefined && isCounted ? { usage } : {}),
      ...(model === undefined ? {} : { model }),
      ...(id === undefined ? {} : { id }),
    };
    return events;
  };
  const response = (): ModelResponse => {
    if (result === undefined) throw new UnusableAnswer("the answer is not whole");
    return result;
  };

  return {
    add(event, name) {
      if (result !== undefined) return [];
      if (!isObject(event)) throw new UnusableAnswer("the server sent JSON that is no object");
      const type = stringOr(field(event, "type"), name);
      if (type === "error" || name === "error" || (hasError(event) && !type.startsWith("response.")))
        throw new ReportedError(field(event, "error") ?? event);
      const inner = field(event, "response");
      switch (type) {
        case "response.completed":
        case "response.incomplete": {
          if (!isObject(inner) && drafts.all().length === 0)
            throw new UnusableAnswer("the stream ended with a response that is none");
          const said = statusOf(inner);
          // Some servers complete what they call incomplete in the same event; then it is.
          return [
            ...tell(event, type),
            ...close(inner, type === "response.incomplete" ? "incomplete" : said),
          ];
        }
        case "response.failed":
        case "response.cancelled":
          throw new ReportedError(field(inner, "error") ?? `the server says ${type}`);
        default:
          if (inner !== undefined) readHead(inner);
          return tell(event, type);
      }
    },
    addWhole(body) {
      if (!isObject(body)) throw new UnusableAnswer("the server sent JSON that is no object");
      const status = statusOf(body);
      if (!Array.isArray(field(body, "output")))
        throw new UnusableAnswer("the server sent a response without output");
      return close(body, status);
    },
    get isFinished() {
      return result !== undefined;
    },
    get isOver() {
      return result !== undefined;
    },
    finish: () => [{ type: "finish", response: response() }],
    response,
  };
}

function hasError(value: unknown): boolean {
  const error = field(value, "error");
  return error !== undefined && error !== null && error !== false;
}

/** How a response ended. One that failed, or has not ended, is no answer. */
function statusOf(response: unknown): string {
  if (hasError(response)) throw new ReportedError(field(response, "error"));
  const status = stringOr(field(response, "status"), "completed");
  if (status === "completed" || status === "incomplete") return status;
  throw new UnusableAnswer(`the server sent a response that is ${status.slice(0, 40)}, and so no answer`);
}
