import { field, fieldsOf, listOf, withoutField } from "@ravi/kernel/provider";
import {
  chooseRemedy,
  leaveOut,
  type Rejection,
  type Remedy,
  rename,
  UNSUPPORTED,
} from "../failure/corrections.ts";
import { type EffortPlace, effortRemedy } from "../failure/effort-remedy.ts";
import { imageRemedy } from "../failure/image-remedy.ts";
import { keywordRemedy } from "../failure/keyword-remedy.ts";
import { type SchemaPlaces, schemaRemedy } from "../failure/schema-remedy.ts";
import type { RequestBody } from "../wire/protocol.ts";
import { outputInWords } from "../request/output-format.ts";
import { withoutToolImages } from "./tool-images.ts";
import { messageRemedy, sealRemedy } from "./message-remedies.ts";

/**
 * Parameters that a request can do without. The limit of output tokens is never left out, because the budget reserved that many.
 */
const REMEDIES: readonly Remedy[] = [
  rename("max_completion_tokens", "max_tokens"),
  rename("max_tokens", "max_completion_tokens"),
  ...["temperature", "top_p", "seed", "stop", "stream_options", "parallel_tool_calls"].map((param) =>
    leaveOut(param),
  ),
  // In the words of xAI and of Ollama.
  leaveOut("reasoning_effort", /\breasoningEffort\b|\bsupport thinking\b|\bthink value\b/),
  {
    // Some accounts may not stream the newest models. The answer then comes in one piece.
    param: "stream",
    effect: "answers are not streamed from now on",
    apply: (body) => withoutField(withoutField(body, "stream"), "stream_options"),
  },
  {
    param: "response_format",
    words: /json_schema|structured output/i,
    effect: "the schema of the answer is sent as text from now on",
    apply: askInWords,
  },
];

/** What to change in a request that the server refused; undefined if nothing can be. */
export function chatRemedy(rejection: Rejection, sent: RequestBody): Remedy | undefined {
  return (
    schemaRemedy(rejection, sent, PLACES) ??
    effortRemedy(rejection, sent, EFFORT) ??
    chooseRemedy(rejection, sent, REMEDIES) ??
    strictRemedy(rejection, sent) ??
    keywordRemedy(rejection, sent) ??
    sealRemedy(rejection, sent) ??
    toolsRemedy(rejection, sent) ??
    choiceRemedy(rejection, sent) ??
    streamRemedy(rejection, sent) ??
    imageRemedy(rejection, sent, { list: "messages", without: withoutToolImages }) ??
    messageRemedy(rejection, sent)
  );
}

/** Some servers know no strict tools, and Cerebras wants all of them to be strict or none. */
function strictRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  const isRefused = UNSUPPORTED.test(message) || /\bsame value\b/.test(message);
  if ((status !== 400 && status !== 422) || !isRefused || !/\bstrict\b/.test(message)) return undefined;
  if (!listOf(sent["tools"]).some(isStrict)) return undefined;
  return {
    param: "tools",
    repeats: true,
    effect: "none of them is strict from now on",
    apply: (body) => ({
      ...body,
      tools: listOf(body["tools"]).map((tool) =>
        isStrict(tool) ? withoutField(fieldsOf(tool), "function.strict") : tool,
      ),
    }),
  };
}

const TOOLS_MISSING = /without `?tools=|must define tools|toolConfig field must be (?:defined|provided)/i;

/**
 * Gateways to Anthropic and Amazon refuse a conversation with calls in a request without tools, such as an agent's last one. The tools that
 * were called are defined then, so that the agent can still say what it has found.
 */
function toolsRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if ((status !== 400 && status !== 422) || !TOOLS_MISSING.test(message) || withCalled(sent) === sent)
    return undefined;
  return {
    param: "messages",
    repeats: true,
    effect: "they have calls, so the tools that were called are defined from now on",
    apply: withCalled,
  };
}

/** LM Studio knows no tool_choice with a name. That a tool must be called means the same if it is the only one. */
function choiceRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  const isRefused = status === 400 && /\btool_choice type: '?object/i.test(message);
  if (!isRefused || onlyChosen(sent) === sent) return undefined;
  return {
    param: "tool_choice",
    repeats: true,
    effect: "a tool that is demanded by its name is sent as the only one from now on",
    apply: onlyChosen,
  };
}

function onlyChosen(body: RequestBody): RequestBody {
  const name = field(field(body["tool_choice"], "function"), "name");
  const tools = listOf(body["tools"]).filter((tool) => field(field(tool, "function"), "name") === name);
  return name === undefined || tools.length !== 1 ? body : { ...body, tools, tool_choice: "required" };
}

const STREAM_ONLY = /\bfor non-streaming calls\b|\bonly supports? stream|`stream=false`/i;

/** Models of Alibaba that think can only stream. Not asked for before, since nobody may listen, and some accounts may not stream. */
function streamRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if (status !== 400 || sent["stream"] === true || !STREAM_ONLY.test(message)) return undefined;
  return {
    param: "model",
    repeats: true,
    effect: "it can only stream, so its answers are streamed from now on",
    apply: (body) => ({ ...body, stream: true, stream_options: { include_usage: true } }),
  };
}

function withCalled(body: RequestBody): RequestBody {
  const calls = listOf(body["messages"]).flatMap((message) => listOf(field(message, "tool_calls")));
  if (calls.length === 0 || body["tools"] !== undefined) return body;
  const names = new Set(calls.map((call) => field(field(call, "function"), "name")));
  const described = { description: "No longer available.", parameters: { type: "object", properties: {} } };
  const tools = [...names].map((name) => ({ type: "function", function: { name, ...described } }));
  return { ...body, tools };
}

function isStrict(tool: unknown): boolean {
  return field(field(tool, "function"), "strict") !== undefined;
}

const PLACES: SchemaPlaces = {
  output: { param: "response_format", schemaOf, inWords: askInWords },
  tool: {
    read: (tool) => field(tool, "function"),
    write: (tool, description) => ({ ...fieldsOf(tool), function: description }),
  },
};

const EFFORT: EffortPlace = {
  param: "reasoning_effort",
  read: (body) => body["reasoning_effort"],
  write: (body, effort) =>
    effort === undefined ? withoutField(body, "reasoning_effort") : { ...body, reasoning_effort: effort },
};

function schemaOf(body: RequestBody): unknown {
  return field(field(body["response_format"], "json_schema"), "schema");
}

function askInWords(body: RequestBody): RequestBody {
  const schema = schemaOf(body);
  const rest = withoutField(body, "response_format");
  if (schema === undefined) return rest;
  return {
    ...rest,
    messages: [...listOf(body["messages"]), { role: "system", content: outputInWords(schema) }],
  };
}
