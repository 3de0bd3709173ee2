import { isCancellation, type ModelEvent } from "@ravi/kernel";
import {
  BrokenConnection,
  incomplete,
  isObject,
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
  /** The answer so far, if it is not streamed. */
  let whole = "";
  for await (const piece of bodyPieces(response, call, limits.maxResponseBytes)) {
    const text = decoder.decode(piece, { stream: true });
    isStreamed ??= looksStreamed(text.trimStart(), headers);
    if (isStreamed !== true) {
      whole += text;
      if (whole.length > limits.maxPieceBytes) throw new OversizedAnswer("the answer", limits.maxPieceBytes);
      continue;
    }
    for (const { name, data } of reader.push(text)) {
      for (const event of answer.addEvent(eventOf(name, data, answer.isFinished))) {
        yield event;
        if (call.stopped !== undefined) throw call.stopped;
      }
      // An error after the end must not fail the call either.
      if (answer.isOver) return;
    }
  }
  const rest = decoder.decode();
  if (!(isStreamed ?? isEventStream(headers))) {
    yield* answer.addWhole(parseAnswer(whole + rest, headers));
    return;
  }
  for (const { name, data } of reader.end(rest))
    yield* answer.addEvent(eventOf(name, data, answer.isFinished));
}

/**
 * Whether the text is the beginning of a stream; undefined if it is empty. Its first letter says it (that of a brace, or of `data`,
 * `event`, `id`, `retry` or a comment). The content type is often wrong, and counts only if the text is neither.
 */
function looksStreamed(text: string, headers: Headers): boolean | undefined {
  if (text === "") return undefined;
  if (/^[[{]/.test(text)) return false;
  return /^[deir:]/.test(text) || isEventStream(headers);
}

function isEventStream(headers: Headers): boolean {
  return /\bevent-stream\b/.test(headers.get("content-type") ?? "");
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
