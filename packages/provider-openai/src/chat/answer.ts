import type { AssistantMessage, ContentPart, ModelEvent, ModelResponse, Usage } from "@ravi/kernel";
import { ReportedError, UnusableAnswer } from "../failure/facts.ts";
import { field, isObject, listOf, stringOr } from "../wire/json.ts";
import { finishReasonOf } from "./finish.ts";
import { assembleToolCalls } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

/** An answer as it comes in. */
export interface Answer {
  /** One `chat.completion.chunk`. */
  addChunk(chunk: unknown): readonly ModelEvent[];
  /** One `chat.completion`, whole. */
  addWhole(completion: unknown): readonly ModelEvent[];
  /** The server said why it ended: nothing of the answer is missing. */
  readonly isFinished: boolean;
  /** What is left to tell, with `finish` at the end. */
  finish(): readonly ModelEvent[];
  response(): ModelResponse;
}

export function collectAnswer(): Answer {
  const tools = assembleToolCalls();
  let text = "";
  let reasoning = "";
  let refused = false;
  let said: string | undefined;
  let usage: Usage | undefined;
  let id: string | undefined;
  let model: string | undefined;

  const readHead = (body: unknown): void => {
    const error = field(body, "error");
    if (error !== undefined && error !== null && error !== false) throw new ReportedError(error);
    if (!isObject(body)) throw new UnusableAnswer("the server sent JSON that is no object");
    id ??= stringOr(field(body, "id"), undefined);
    model ??= stringOr(field(body, "model"), undefined);
    // Some servers count on in each chunk, and some send a broken count after a good one.
    usage = readUsage(field(body, "usage")) ?? usage;
  };
  const readEnd = (choice: unknown): void => {
    const reason = field(choice, "finish_reason");
    if (reason === "error") throw new ReportedError(field(choice, "error") ?? "the model failed");
    if (typeof reason === "string" && reason !== "") said = reason;
  };
  const readTexts = (source: unknown): ModelEvent[] => {
    const events: ModelEvent[] = [];
    const content = readContent(field(source, "content"));
    const thought =
      stringOr(field(source, "reasoning_content"), undefined) ??
      stringOr(field(source, "reasoning"), undefined) ??
      content.reasoning;
    const refusal = stringOr(field(source, "refusal"), "");
    if (refusal !== "") refused = true;
    const spoken = content.text + refusal;
    reasoning += thought;
    text += spoken;
    if (thought !== "") events.push({ type: "reasoning", delta: thought });
    if (spoken !== "") events.push({ type: "text", delta: spoken });
    return events;
  };
  const response = (): ModelResponse => {
    const calls = tools.calls();
    const content: string | ContentPart[] =
      reasoning === ""
        ? text
        : [{ type: "reasoning", text: reasoning }, ...(text === "" ? [] : [{ type: "text" as const, text }])];
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    };
    return {
      message,
      finishReason: finishReasonOf({ said, refused, hasCalls: calls.length > 0 }),
      ...(usage === undefined ? {} : { usage }),
      ...(model === undefined ? {} : { model }),
      ...(id === undefined ? {} : { id }),
    };
  };

  return {
    addChunk(chunk) {
      readHead(chunk);
      const events: ModelEvent[] = [];
      for (const choice of listOf(field(chunk, "choices"))) {
        if ((field(choice, "index") ?? 0) !== 0) continue;
        const delta = field(choice, "delta");
        events.push(...readTexts(delta));
        for (const item of listOf(field(delta, "tool_calls"))) {
          const event = tools.add(item);
          if (event !== undefined) events.push(event);
        }
        readEnd(choice);
      }
      return events;
    },
    addWhole(completion) {
      readHead(completion);
      const choice = listOf(field(completion, "choices"))[0];
      const message = field(choice, "message");
      if (!isObject(message)) throw new UnusableAnswer("the server sent an answer without a message");
      const events = readTexts(message);
      for (const item of listOf(field(message, "tool_calls"))) tools.addWhole(item);
      readEnd(choice);
      said ??= "";
      return events;
    },
    get isFinished() {
      return said !== undefined;
    },
    finish() {
      const events: ModelEvent[] = [...tools.flush()];
      if (said === "") said = undefined;
      events.push({ type: "finish", response: response() });
      return events;
    },
    response() {
      tools.flush();
      if (said === "") said = undefined;
      return response();
    },
  };
}

/** Text, or parts as some servers send them, thinking among them. */
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
