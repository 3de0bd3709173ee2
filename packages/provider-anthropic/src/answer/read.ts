import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  BrokenConnection,
  incomplete,
  isObject,
  parseAnswer,
  parseEvent,
  type ProviderCall,
  serverEvents,
  tryParse,
  type WireLimits,
} from "@ravi/kernel/provider";
import { ReportedError } from "../failure/reported.ts";
import { readPieces } from "../wire/pieces.ts";
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
  const kind = response.headers.get("content-type") ?? "";
  try {
    yield* /\bjson\b/.test(kind) ? readWhole(reading) : readStream(reading);
  } catch (error) {
    // If the server breaks off or falls silent after it said why the answer ended, that is no error: a retry would pay for it twice.
    const isLost = error instanceof BrokenConnection || error === call.stopped;
    if (!answer.isFinished || !isLost || isCancellation(error)) throw error;
  }
  if (!answer.isFinished) throw incomplete(response.headers);
}

async function* readWhole({ response, answer, call, limits }: Reading): AsyncGenerator<ModelEvent, void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of readPieces(response, call, limits.maxPieceBytes)) {
    text += decoder.decode(piece, { stream: true });
  }
  text += decoder.decode();
  if (!/^\s*(?:event|data)?:/.test(text)) {
    yield* answer.addWhole(parseAnswer(text, response.headers));
    return;
  }
  // Some servers call a stream JSON.
  for (const { name, data } of serverEvents(limits.maxPieceBytes).end(text))
    if (!answer.isOver) yield* answer.addEvent(eventOf(name, data, answer.isFinished));
}

async function* readStream({ response, answer, call, limits }: Reading): AsyncGenerator<ModelEvent, void> {
  const decoder = new TextDecoder();
  const reader = serverEvents(limits.maxPieceBytes);
  for await (const piece of readPieces(response, call, limits.maxResponseBytes)) {
    for (const { name, data } of reader.push(decoder.decode(piece, { stream: true }))) {
      for (const event of answer.addEvent(eventOf(name, data, answer.isFinished))) {
        yield event;
        if (call.stopped !== undefined) throw call.stopped;
      }
      // An error after the end must not fail the call either.
      if (answer.isOver) return;
    }
  }
  for (const { name, data } of reader.end(decoder.decode()))
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
