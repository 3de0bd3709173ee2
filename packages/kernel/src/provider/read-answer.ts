import { isCancellation } from "../errors/is.ts";
import type { ModelEvent } from "../model/llm.ts";
import type { PlatformTimers } from "../run/with-timers.ts";
import { incomplete, parseAnswer, parseEvent } from "./answer-text.ts";
import { type Body, type BodySource, openBody } from "./body.ts";
import type { ProviderCall } from "./call.ts";
import { OversizedAnswer } from "./faults.ts";
import type { HeaderSource } from "./headers.ts";
import { tryParse } from "./json.ts";
import type { WireLimits } from "./options.ts";
import { serverEvents } from "./server-events.ts";
import { looksStreamed } from "./streamed.ts";

/** Collects one answer of a server. */
export interface WireAnswer {
  /**
   * Adds one event of a stream; `name` is its SSE event name. Returns the events to emit. What is named `error` and is no JSON comes as
   * text.
   */
  add(event: unknown, name: string): readonly ModelEvent[];
  /** Adds an answer that was not streamed. */
  addWhole(body: unknown): readonly ModelEvent[];
  /** The server said why the answer ended, so it is complete. */
  isFinished(): boolean;
  /** Nothing relevant can follow, so reading stops. */
  isOver(): boolean;
}

export interface AnswerReading {
  /** A response of `fetch`. */
  readonly response: { readonly headers: HeaderSource; readonly body: BodySource };
  readonly call: ProviderCall;
  readonly limits: WireLimits;
  readonly answer: WireAnswer;
  readonly timers: PlatformTimers;
}

/**
 * Reads a response into an answer, streamed or whole, whichever the server sent. Returns a function that gives the events of the next piece
 * of it, and undefined at the end. Throws if a stream ends before the server said why. It returns arrays because an async iterator here
 * would cost more than all the rest.
 */
export function answerReader(reading: AnswerReading): () => Promise<readonly ModelEvent[] | undefined> {
  const { response, call, limits, answer, timers } = reading;
  const { headers } = response;
  const body = openBody(response.body, { call, maxBytes: limits.maxResponseBytes, timers });
  // Joins characters that were split between pieces, and removes a byte order mark.
  const decoder = new TextDecoder();
  const reader = serverEvents(limits.maxPieceBytes);
  let isEnded = false;
  /** Whether an event of it has come. */
  let isBegun = false;
  let isStreamed: boolean | undefined;
  /** The answer so far, if it is not streamed or too short to say. */
  let whole = "";
  let size = 0;
  let failure: { readonly error: unknown } | undefined;

  const takeWhole = (text: string, events: ModelEvent[]): void => {
    whole += text;
    if (size > limits.maxPieceBytes) throw new OversizedAnswer("the answer", limits.maxPieceBytes);
    if (isEnded) events.push(...answer.addWhole(parseAnswer(whole, headers)));
  };
  const read = (data: string, name: string): unknown =>
    (name === "error" && !answer.isFinished() ? (tryParse(data) ?? data) : undefined) ??
    parseEvent(data, answer.isFinished());
  const take = (piece: Uint8Array | undefined, events: ModelEvent[]): void => {
    isEnded = piece === undefined;
    let text = decoder.decode(piece, { stream: piece !== undefined });
    if (isStreamed === undefined) {
      text = (whole + text).trimStart();
      isStreamed = looksStreamed(text, headers, isEnded);
      whole = isStreamed === undefined ? text : "";
    }
    if (isStreamed !== true) size += piece?.length ?? 0;
    if (isStreamed === undefined) return;
    if (!isStreamed) {
      takeWhole(text, events);
      return;
    }
    for (const { data, name } of piece === undefined ? reader.end(text) : reader.push(text)) {
      // OpenAI's mark of the end, which other servers send too, and some before they begin.
      const isMark = data.trim() === "[DONE]";
      // An event that only shows that the server is still there may have no data.
      if (!isMark && data !== "") {
        isBegun = true;
        events.push(...answer.add(read(data, name), name));
      }
      if (isMark ? !isBegun : !answer.isOver()) continue;
      if (piece !== undefined) body.leave();
      isEnded = true;
      return;
    }
  };
  return async () => {
    if (failure !== undefined) throw failure.error;
    if (isEnded) {
      if (isStreamed !== false && !answer.isFinished()) throw incomplete(headers);
      return undefined;
    }
    const piece = await nextPiece(body, call, answer.isFinished());
    const events: ModelEvent[] = [];
    try {
      take(piece, events);
    } catch (error) {
      // Events that came before the error in the same piece are delivered first, as if they had come in a piece of their own.
      failure = { error };
    }
    return events;
  };
}

/**
 * Reads the next piece. If the connection breaks after the answer is complete, that is no error: a retry would pay for it twice.
 */
async function nextPiece(
  body: Body,
  call: ProviderCall,
  isFinished: boolean,
): Promise<Uint8Array | undefined> {
  try {
    return await body.next();
  } catch (error) {
    if (!isFinished || isCancellation(call.stopped)) throw error;
    return undefined;
  }
}
