import type { AssistantMessage, ContentPart, FinishReason, ModelEvent, ModelResponse } from "@ravi/kernel";
import { fieldsOf, isObject, listOf, textIn, UnusableAnswer, type WireAnswer } from "@ravi/kernel/provider";
import { ReportedError, unlisted } from "../failure/reported.ts";
import { type BlockSetup, collectBlocks } from "./blocks.ts";
import { finishReasonOf } from "./stop-reason.ts";
import { usageReader, type UsageSetup } from "./usage.ts";

/** Collects one answer. */
export interface Answer extends WireAnswer {
  /** The response as collected so far. */
  response(): ModelResponse;
}

export interface AnswerSetup extends BlockSetup, UsageSetup {}

/** Collects an answer of the Messages API, streamed or whole. */
export function collectAnswer(setup: AnswerSetup): Answer {
  const blocks = collectBlocks(setup);
  const usage = usageReader(setup);
  let id: string | undefined;
  let model: string | undefined;
  let stopReason: string | undefined;
  let hasText = false;
  let isOver = false;

  const readHead = (message: unknown): void => {
    id ??= textIn(fieldsOf(message)["id"]);
    model ??= textIn(fieldsOf(message)["model"]);
  };
  /** Reads the stop reason. A refusal may have no text but only an explanation, which then becomes the text. */
  const readEnd = (source: unknown): readonly ModelEvent[] => {
    const { stop_reason: reason, stop_details: details } = fieldsOf(source);
    stopReason = textIn(reason) ?? stopReason;
    const why = textIn(fieldsOf(details)["explanation"]);
    if (stopReason?.toLowerCase() !== "refusal" || hasText || why === undefined) return [];
    return [...blocks.start("refusal", { type: "text", text: why }), ...blocks.stop("refusal")];
  };
  const hasHalfCall = (): boolean =>
    blocks.hasOpenCall() && !isBrokenOff(finishReasonOf({ stopReason, hasCalls: true }));
  const noteText = (events: readonly ModelEvent[]): readonly ModelEvent[] => {
    hasText ||= events.some((event) => event.type === "text");
    return events;
  };

  return {
    add(data, name) {
      const event = unlisted(data);
      if (name === "error") throw new ReportedError(event);
      if (!isObject(event)) throw new UnusableAnswer("the stream contains an event that is not an object");
      // Some servers give the type only in the SSE event name.
      const { type = textIn(name), index } = event;
      switch (type) {
        case "error":
          throw new ReportedError(event);
        case "message_start":
          if (blocks.isBegun() && textIn(fieldsOf(event["message"])["id"]) !== id)
            throw new UnusableAnswer("another answer began before the first one had ended");
          readHead(event["message"]);
          usage.start(fieldsOf(event["message"])["usage"]);
          return [];
        case "content_block_start":
          return noteText(blocks.start(index, event["content_block"]));
        case "content_block_delta":
          return noteText(blocks.delta(index, event["delta"]));
        case "content_block_stop":
          return noteText(blocks.stop(index));
        case "message_delta":
          usage.end(event["usage"]);
          return noteText(readEnd(event["delta"]));
        case "message_stop":
          if (hasHalfCall()) throw new UnusableAnswer("the answer ended inside a tool call");
          isOver = true;
          return [];
        default:
          // `ping`, and events that may be added to the API later.
          if (event["object"] === "error" || (type === undefined && "error" in event))
            throw new ReportedError(event);
          return [];
      }
    },
    addWhole(body) {
      const message = unlisted(body);
      if (!isObject(message)) throw new UnusableAnswer("the server sent JSON that is not an object");
      const { type, object, error, content } = message;
      if (type === "error" || object === "error" || isObject(error) || textIn(error) !== undefined)
        throw new ReportedError(message);
      if (!Array.isArray(content)) throw new UnusableAnswer("the server sent an answer without content");
      readHead(message);
      usage.end(message["usage"]);
      const events = listOf(content).flatMap((block, at) => [
        ...noteText(blocks.start(at, block)),
        ...noteText(blocks.stop(at)),
      ]);
      events.push(...noteText(readEnd(message)));
      isOver = true;
      return events;
    },
    isFinished: () => isOver || (stopReason !== undefined && !hasHalfCall()),
    isOver: () => isOver,
    response() {
      const calls = blocks.calls();
      const message: AssistantMessage = {
        role: "assistant",
        content: contentOf(blocks.parts()),
        ...(calls.length === 0 ? {} : { toolCalls: calls }),
      };
      const spent = usage.total();
      return {
        message,
        finishReason: finishReasonOf({ stopReason, hasCalls: calls.length > 0 }),
        ...(spent === undefined ? {} : { usage: spent }),
        ...(model === undefined ? {} : { model }),
        ...(id === undefined ? {} : { id }),
      };
    },
  };
}

/**
 * Whether the server itself says that the answer is cut off. Half a tool call is normal then. It is never run, and a retry would
 * pay for the answer twice.
 */
function isBrokenOff(reason: FinishReason): boolean {
  return reason === "length" || reason === "refused" || reason === "filtered";
}

/** Text parts alone become one string. */
function contentOf(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === parts.length ? texts.join("") : parts;
}
