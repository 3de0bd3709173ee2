import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  BrokenConnection,
  incomplete,
  isObject,
  looksStreamed,
  OversizedAnswer,
  parseAnswer,
  parseEvent,
  type ProviderCall,
  serverEvents,
  tryParse,
  type WireLimits,
} from "@ravi/kernel/provider";
import { ReportedError } from "../failure/reported.ts";
import { bodyPieces } from "../wire/pieces.ts";
import type { Answer } from "./answer.ts";

export interface Reading {
  readonly response: Response;
  readonly answer: Answer;
  readonly call: ProviderCall;
  readonly limits: WireLimits;
}

/** Reads a response into an answer, streamed or whole, depending on what the server sent. Throws if it ends too early. */
export async function* readAnswer(reading: Reading): AsyncGenerator<ModelEvent, void> {
  const { response, answer, call } = reading;
  try {
    yield* readPieces(reading);
  } catch (error) {
    // If the server breaks off or falls silent after it said why the answer ended, that is no error: a retry would pay for it twice.
    const isLost = error instanceof BrokenConnection || error === call.stopped;
    if (!answer.isFinished || !isLost || isCancellation(error)) throw error;
  }
  if (!answer.isFinished) throw incomplete(response.headers);
}

async function* readPieces({ response, answer, call, limits }: Reading): AsyncGenerator<ModelEvent, void> {
  const { headers } = response;
  const decoder = new TextDecoder();
  const reader = serverEvents(limits.maxPieceBytes);
  let isStreamed: boolean | undefined;
  /** All of an answer that is not streamed; else its beginning, until it says that it is. */
  let unread = "";
  let size = 0;
  for await (const piece of bodyPieces(response, call, limits.maxResponseBytes)) {
    unread += decoder.decode(piece, { stream: true });
    if (isStreamed === undefined) {
      unread = unread.trimStart();
      isStreamed = looksStreamed(unread, headers, false);
    }
    if (isStreamed !== true) {
      size += piece.length;
      if (size > limits.maxPieceBytes) throw new OversizedAnswer("the answer", limits.maxPieceBytes);
      continue;
    }
    const events = reader.push(unread);
    unread = "";
    for (const { name, data } of events) {
      for (const event of answer.addEvent(eventOf(name, data, answer.isFinished))) {
        yield event;
        if (call.stopped !== undefined) throw call.stopped;
      }
      // An error after the end must not fail the call either.
      if (answer.isOver) return;
    }
  }
  unread += decoder.decode();
  if (!(isStreamed ?? looksStreamed(unread, headers, true))) {
    yield* answer.addWhole(parseAnswer(unread, headers));
    return;
  }
  for (const { name, data } of reader.end(unread))
    yield* answer.addEvent(eventOf(name, data, answer.isFinished));
}

function eventOf(name: string, data: string, isFinished: boolean): unknown {
  if (name === "error") throw new ReportedError(tryParse(data) ?? data);
  // OpenAI's mark of the end, which compatible servers send too.
  if (data.trim() === "[DONE]") return isFinished ? { type: "message_stop" } : {};
  // An event that only shows that the server is still there may have no data.
  const event = data === "" ? {} : parseEvent(data, isFinished);
  // Some servers give the type only in the SSE event name.
  return isObject(event) && event["type"] === undefined && name !== "" ? { ...event, type: name } : event;
}
