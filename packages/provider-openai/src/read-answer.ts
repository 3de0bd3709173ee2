import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  incomplete,
  parseAnswer,
  parseEvent,
  type ProviderCall,
  serverEvents,
  tryParse,
  type WireLimits,
} from "@ravi/kernel/provider";
import type { Answer } from "./protocol.ts";
import { type Body, openBody, readText } from "./wire/body.ts";

export interface Reading {
  readonly response: Response;
  readonly call: ProviderCall;
  readonly limits: WireLimits;
  readonly answer: Answer;
}

/** Reads an answer that is not streamed. */
export async function readWhole(reading: Reading): Promise<readonly ModelEvent[]> {
  const { response, call, limits, answer } = reading;
  const { headers } = response;
  const text = await readText(openBody(response, call, limits.maxPieceBytes));
  // Some servers stream although they were not asked to. Nobody listens to the events then.
  if (isEventStream(headers) && tryParse(text) === undefined) {
    await readToEnd({ ...reading, response: new Response(text, { headers }) });
    return [];
  }
  return answer.addWhole(parseAnswer(text, headers));
}

export function isEventStream(headers: Headers): boolean {
  return /\bevent-stream\b/.test(headers.get("content-type") ?? "");
}

/** Reads a streamed answer to its end, if nobody listens to its events. */
export async function readToEnd(reading: Reading): Promise<void> {
  const next = streamReader(reading);
  while ((await next()) !== undefined) {
    // The answer collects what counts.
  }
}

/**
 * Returns a function that gives the events of the next piece of a streamed answer, and undefined at the end. Throws if the stream
 * ends before the server said why. It returns arrays because an async iterator here would cost more than all the rest.
 */
export function streamReader(reading: Reading): () => Promise<readonly ModelEvent[] | undefined> {
  const { response, call, limits, answer } = reading;
  let isEnded = false;
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
    // The server does not stream, or failed before it began to.
    return async () => {
      if (isEnded) return undefined;
      isEnded = true;
      return readWhole(reading);
    };
  }
  const body = openBody(response, call, limits.maxResponseBytes);
  // Joins characters that were split between pieces, and removes a byte order mark.
  const decoder = new TextDecoder();
  const reader = serverEvents(limits.maxPieceBytes);
  let failure: { readonly error: unknown } | undefined;

  const take = (piece: Uint8Array | undefined, events: ModelEvent[]): void => {
    isEnded = piece === undefined;
    const text = decoder.decode(piece, { stream: piece !== undefined });
    for (const { data, name } of piece === undefined ? reader.end(text) : reader.push(text)) {
      const isLast = data.trim() === "[DONE]";
      if (!isLast && data !== "") events.push(...answer.add(parseEvent(data), name));
      if (!isLast && !answer.isOver) continue;
      if (piece !== undefined) body.leave();
      isEnded = true;
      return;
    }
  };
  return async () => {
    if (failure !== undefined) throw failure.error;
    if (isEnded) {
      if (!answer.isFinished) throw incomplete(response.headers);
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
