import {
  type AssistantMessage,
  type ContentPart,
  type ModelEvent,
  type ModelResponse,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import {
  field,
  fieldsOf,
  isObject,
  listOf,
  reasonMeantBy,
  stringOr,
  textIn,
  UnusableAnswer,
} from "@ravi/kernel/provider";
import { greatestUsage } from "../answer/greatest-usage.ts";
import { errorIn, ReportedError } from "../failure/reported-error.ts";
import type { Answer } from "../wire/protocol.ts";
import { finishReasonOf } from "./finish.ts";
import { thoughtPart } from "./kept.ts";
import { assembleReasoning, beyond } from "./reasoning.ts";
import { assembleToolCalls } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

/**
 * Finish reasons that mean that the model or its server failed although there is an answer. Gemini, for example, sends an empty
 * answer after a malformed tool call, and Portkey sends the type of an error (`overloaded_error`).
 */
const FAILED = /^(?:\w+_)?error$|malformed_function_call|unexpected_tool_call/i;

function isFailure(reason: unknown): reason is string {
  return typeof reason === "string" && FAILED.test(reason);
}

/** Collects an answer of Chat Completions, streamed or whole. */
export function collectAnswer(provider: string): Answer {
  const tools = assembleToolCalls(provider);
  const reasoning = assembleReasoning();
  let text = "";
  /** Whether anything came in deltas. */
  let hasPieces = false;
  let refused = false;
  let finishReason: string | undefined;
  let usage: Usage | undefined;
  let id: string | undefined;
  let model: string | undefined;

  const readSpent = (value: unknown): void => {
    const spent = readUsage(value);
    if (spent !== undefined) usage = greatestUsage(usage, spent);
  };
  const readHead = (body: unknown): void => {
    // Some servers send a growing count with each chunk, and some send a broken count or zeros after a good one.
    readSpent(field(body, "usage"));
    readSpent(field(field(body, "x_groq"), "usage"));
    const error = errorIn(body);
    if (error !== undefined) throw new ReportedError(error);
    if (!isObject(body)) throw new UnusableAnswer("the server sent JSON that is not an object");
    id ??= textIn(field(body, "id"));
    model ??= textIn(field(body, "model"));
  };
  const readEnd = (choice: unknown): void => {
    const reason = field(choice, "finish_reason");
    // OpenRouter may say only here that the model behind it failed, and `stop` there.
    const failure = [reason, field(choice, "native_finish_reason")].find(isFailure);
    // Moonshot reports the usage here.
    readSpent(field(choice, "usage"));
    if (failure !== undefined)
      throw new ReportedError(
        field(choice, "error") ?? { type: failure, message: `the model failed: ${failure}` },
      );
    if (typeof reason === "string" && reason !== "") finishReason = reason;
  };
  const readTexts = (source: unknown, isWhole: boolean): ModelEvent[] => {
    const events: ModelEvent[] = [];
    const content = readContent(field(source, "content"));
    const thought = reasoning.add(source, content.reasoning, isWhole);
    const refusal = stringOr(field(source, "refusal"), "");
    if (refusal !== "") refused = true;
    const said = content.text + refusal;
    const spoken = isWhole ? beyond(text, said) : said;
    text += spoken;
    if (thought !== "") events.push({ type: "reasoning", delta: thought });
    if (spoken !== "") events.push({ type: "text", delta: spoken });
    return events;
  };
  /** Reads a whole message. A server may send several of them in a stream, which grow or follow one another. */
  const readMessage = (message: unknown): ModelEvent[] => {
    const events = readTexts(message, true);
    for (const item of listOf(field(message, "tool_calls")).slice(tools.size())) tools.addWhole(item);
    return events;
  };
  const response = (): ModelResponse => {
    const calls = tools.calls();
    const thoughts = thoughtPart(reasoning.thought(), provider);
    const content: string | ContentPart[] =
      thoughts.length === 0 ? text : [...thoughts, ...(text === "" ? [] : [{ type: "text" as const, text }])];
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    };
    return {
      message,
      finishReason: finishReasonOf({
        reported: finishReason || undefined,
        refused,
        hasCalls: calls.length > 0,
      }),
      // A prompt is never empty: if all counts are zero, nobody has counted.
      ...(usage === undefined || totalTokens(usage) === 0 ? {} : { usage }),
      ...(model === undefined ? {} : { model }),
      ...(id === undefined ? {} : { id }),
    };
  };

  return {
    add(event, name) {
      const chunk = name === "error" && field(event, "error") === undefined ? { error: event } : event;
      readHead(chunk);
      const events: ModelEvent[] = [];
      for (const choice of listOf(field(chunk, "choices"))) {
        if ((field(choice, "index") ?? 0) !== 0) continue;
        const { delta, message } = fieldsOf(choice);
        const calls = listOf(field(delta, "tool_calls"));
        const spoken = readTexts(delta, false);
        hasPieces ||= spoken.length + calls.length + listOf(field(delta, "reasoning_details")).length > 0;
        // A server that does not stream sends whole messages. If pieces came, a message only repeats them.
        events.push(...(hasPieces ? spoken : readMessage(message)));
        for (const item of calls) {
          const begun = tools.add(item);
          if (begun !== undefined) events.push(begun);
        }
        readEnd(choice);
      }
      return events;
    },
    addWhole(completion) {
      readHead(completion);
      const choice = listOf(field(completion, "choices"))[0];
      const message = field(choice, "message");
      const events = readMessage(message);
      readEnd(choice);
      // A filtered answer may have no message at all.
      if (!isObject(message) && reasonMeantBy(finishReason ?? "") !== "filtered")
        throw new UnusableAnswer("the server sent an answer without a message");
      finishReason ??= "";
      return events;
    },
    isFinished: () => finishReason !== undefined,
    hasWorked: () =>
      text !== "" ||
      tools.size() > 0 ||
      reasoning.thought().text !== "" ||
      (usage !== undefined && totalTokens(usage) > 0),
    // Usage and [DONE] come after the finish reason.
    isOver: () => false,
    finish() {
      const events = tools.flush();
      return [...events, { type: "finish", response: response() }];
    },
  };
}

/** Reads content that is text, or a list of parts as some servers send it, including thinking. */
function readContent(content: unknown): { readonly text: string; readonly reasoning: string } {
  if (typeof content === "string") return { text: content, reasoning: "" };
  let text = "";
  let reasoning = "";
  for (const part of listOf(content)) {
    text += stringOr(field(part, "text"), "");
    const thinking = field(part, "thinking");
    if (typeof thinking === "string") reasoning += thinking;
    for (const piece of listOf(thinking)) reasoning += stringOr(field(piece, "text"), "");
  }
  return { text, reasoning };
}
