import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  incomplete,
  parseAnswer,
  parseEvent,
  type ProviderCall,
  serverEvents,
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

/** An answer that is not streamed. */
export async function readWhole({ response, call, limits, answer }: Reading): Promise<readonly ModelEvent[]> {
  const text = await readText(openBody(response, call, limits.maxPieceBytes));
  return answer.addWhole(parseAnswer(text, response.headers));
}

/** An answer that is streamed though nobody listens. */
export async function readToEnd(reading: Reading): Promise<void> {
  const next = streamReader(reading);
  while ((await next()) !== undefined) {
    // What counts is in the answer.
  }
}

/**
 * Gives what came with each piece of a streamed answer, and undefined at its end. An end that comes before the server said
 * why is a failure. Batches and not single events: an iterator around this one would cost more than all that is done here.
 */
export function streamReader(reading: Reading): () => Promise<readonly ModelEvent[] | undefined> {
  const { response, call, limits, answer } = reading;
  let isEnded = false;
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
    // A server that does not stream, or one that failed before it began to.
    return async () => {
      if (isEnded) return undefined;
      isEnded = true;
      return readWhole(reading);
    };
  }
  const body = openBody(response, call, limits.maxResponseBytes);
  // It joins characters that were cut, and takes a byte order mark off.
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
      // What came before it in the same piece is told first, as it would be had it come alone.
      failure = { error };
    }
    return events;
  };
}

/** Once the answer is whole, a connection that breaks takes nothing away from it, and asking again would cost it twice. */
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
