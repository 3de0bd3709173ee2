import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  incomplete,
  OversizedAnswer,
  parseAnswer,
  parseEvent,
  type ProviderCall,
  serverEvents,
  type WireLimits,
  looksStreamed,
} from "@ravi/kernel/provider";
import type { Answer } from "./protocol.ts";
import { type Body, openBody } from "./wire/body.ts";

export interface Reading {
  readonly response: Response;
  readonly call: ProviderCall;
  readonly limits: WireLimits;
  readonly answer: Answer;
}

/** Reads an answer to its end, if nobody listens to its events. */
export async function readToEnd(reading: Reading): Promise<void> {
  const next = answerReader(reading);
  while ((await next()) !== undefined) {
    // The answer collects what counts.
  }
}

/**
 * Returns a function that gives the events of the next piece of an answer, and undefined at the end. Throws if a stream ends before
 * the server said why. It returns arrays because an async iterator here would cost more than all the rest.
 */
export function answerReader(reading: Reading): () => Promise<readonly ModelEvent[] | undefined> {
  const { response, call, limits, answer } = reading;
  const { headers } = response;
  const body = openBody(response, call, limits.maxResponseBytes);
  // Joins characters that were split between pieces, and removes a byte order mark.
  const decoder = new TextDecoder();
  const reader = serverEvents(limits.maxPieceBytes);
  let isEnded = false;
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
      const isLast = data.trim() === "[DONE]";
      if (!isLast && data !== "") events.push(...answer.add(parseEvent(data, answer.isFinished), name));
      if (!isLast && !answer.isOver) continue;
      if (piece !== undefined) body.leave();
      isEnded = true;
      return;
    }
  };
  return async () => {
    if (failure !== undefined) throw failure.error;
    if (isEnded) {
      if (isStreamed !== false && !answer.isFinished) throw incomplete(headers);
      return undefined;
    }
    const piece = await nextPiece(body, call, answer.isFinished);
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
