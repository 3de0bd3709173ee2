import { field, isObject, listOf } from "@ravi/kernel/provider";
import {
  chooseRemedy,
  leaveOut,
  type Rejection,
  type Remedy,
  rename,
  UNSUPPORTED,
  without,
} from "../failure/corrections.ts";
import type { RequestBody } from "../protocol.ts";
import { outputInWords } from "../request/output-format.ts";
import { KEPT_FIELDS } from "./kept.ts";

/** Only what an answer can do without. The limit of the answer is never left out, because the budget was reserved by it. */
const REMEDIES: readonly Remedy[] = [
  rename("max_completion_tokens", "max_tokens"),
  rename("max_tokens", "max_completion_tokens"),
  ...["temperature", "top_p", "seed", "reasoning_effort", "stream_options", "parallel_tool_calls"].map(
    (param) => leaveOut(param),
  ),
  {
    param: "response_format",
    words: /json_schema|structured output/i,
    effect: "the model is asked for the shape of its answer in words from now on",
    apply: askInWords,
  },
];

export function chatRemedy(rejection: Rejection, sent: RequestBody): Remedy | undefined {
  return chooseRemedy(rejection, sent, REMEDIES) ?? reasoningRemedy(rejection, sent);
}

const KEPT = new RegExp(String.raw`\b(?:${KEPT_FIELDS.join("|")})\b`);
const MISSED = /missing|must be passed back/i;

/** Reasoning of earlier turns that the server does not take back, or that it wants where there is none: that of another model. */
function reasoningRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if ((status !== 400 && status !== 422) || !KEPT.test(message)) return undefined;
  const messages = listOf(sent["messages"]);
  if (MISSED.test(message) && message.includes("reasoning_content") && messages.some(lacksReasoning))
    return {
      param: "messages",
      repeats: true,
      effect: "an assistant's message without reasoning says from now on that there was none",
      apply: (body) => withMessages(body, (each) => (lacksReasoning(each) ? withNone(each) : each)),
    };
  if (!UNSUPPORTED.test(message) || !messages.some(hasKept)) return undefined;
  return {
    param: "messages",
    repeats: true,
    effect: "reasoning of earlier turns is left out from now on",
    apply: (body) => withMessages(body, (each) => (hasKept(each) ? withoutKept(each) : each)),
  };
}

function withMessages(body: RequestBody, change: (message: unknown) => unknown): RequestBody {
  return { ...body, messages: listOf(body["messages"]).map(change) };
}

function lacksReasoning(message: unknown): boolean {
  return field(message, "role") === "assistant" && field(message, "reasoning_content") === undefined;
}

function withNone(message: unknown): unknown {
  return isObject(message) ? { ...message, reasoning_content: "" } : message;
}

function hasKept(message: unknown): boolean {
  return KEPT_FIELDS.some((name) => field(message, name) !== undefined);
}

function withoutKept(message: unknown): unknown {
  return isObject(message) ? KEPT_FIELDS.reduce(without, message) : message;
}

function askInWords(body: RequestBody): RequestBody {
  const schema = field(field(body["response_format"], "json_schema"), "schema");
  const rest = without(body, "response_format");
  if (schema === undefined) return rest;
  return {
    ...rest,
    messages: [...listOf(body["messages"]), { role: "system", content: outputInWords(schema) }],
  };
}
