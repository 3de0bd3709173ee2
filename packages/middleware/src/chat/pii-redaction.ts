import { type ChatContext, type ChatMessage, checkFields } from "@ravi/kernel";
import { checkWord } from "../common/options.ts";
import { changeList, changeMessage, changeResponse, type ChangeText } from "../text/clean/messages.ts";
import {
  type Numbering,
  type Redaction,
  REDACTION_FIELDS,
  type RedactionOptions,
  redactionOf,
} from "../text/redactor.ts";
import { type FilterStream, filterStream, watchStream } from "../text/clean/stream.ts";
import type { ChatMiddleware } from "../types.ts";

export interface PiiRedactionOptions extends RedactionOptions {
  /** Whether requests, answers or both are cleaned. Default: "both". */
  readonly sides?: "input" | "output" | "both" | undefined;
}

/** The state of one call: its numbering, how its texts are changed, and the list of messages that is known to be clean. */
interface CallState {
  readonly numbering: Numbering;
  readonly change: ChangeText;
  clean: readonly ChatMessage[] | undefined;
}

/**
 * Removes personal data and secrets from what is sent to a model and from its answer. The request is cleaned in `admit`, before
 * the call begins, so that nothing of it is recorded; the answer also while it is streamed.
 */
export function piiRedaction(options: PiiRedactionOptions = {}): ChatMiddleware {
  checkFields("piiRedaction", options, [...REDACTION_FIELDS, "sides"]);
  const redaction = redactionOf("piiRedaction", options);
  const sides = checkWord("piiRedaction.sides", options.sides ?? "both", ["input", "output", "both"]);
  const calls = new WeakMap<ChatContext, CallState>();
  const streams = new WeakMap<ChatContext, FilterStream>();
  const cleaned = redaction.isNumbered ? undefined : new WeakMap<ChatMessage, ChatMessage>();
  const stateOf = (context: ChatContext): CallState => {
    const known = calls.get(context) ?? newState(redaction);
    calls.set(context, known);
    return known;
  };

  return {
    level: "chat",
    name: "piiRedaction",
    role: "redactor",
    ...(sides === "output" ? {} : { admit: (context) => cleanInput(context, stateOf(context), cleaned) }),
    async process(context, next) {
      const state = stateOf(context);
      // For a pipeline whose `admit` was not called, and for text that an outer layer has added since.
      if (sides !== "output") cleanInput(context, state, cleaned);
      if (sides === "input") return next();
      watchStream(streams, context, () =>
        filterStream({
          filter: (json) => redaction.filter(state.numbering, json),
          response: (response) => changeResponse(response, state.change),
        }),
      );
      await next();
      if (context.result !== undefined) context.result = changeResponse(context.result, state.change);
      return undefined;
    },
  };
}

function newState(redaction: Redaction): CallState {
  const numbering: Numbering = new Map();
  return { numbering, change: (text, json) => redaction.whole(text, numbering, json), clean: undefined };
}

/** Cleans the messages. A frozen message is cleaned once and not in every turn. */
function cleanInput(
  context: ChatContext,
  state: CallState,
  cleaned: WeakMap<ChatMessage, ChatMessage> | undefined,
): void {
  const { messages } = context.request;
  if (messages === state.clean) return;
  const clean = changeList(messages, (message) => {
    const known = cleaned?.get(message);
    if (known !== undefined) return known;
    const result = changeMessage(message, state.change);
    if (Object.isFrozen(message) && typeof message.content === "string") cleaned?.set(message, result);
    return result;
  });
  state.clean = clean;
  if (clean !== messages) context.request = { ...context.request, messages: clean };
}
