import {
  type DelegateTool,
  type Dependencies,
  isDelegate,
  type JsonObject,
  type JsonValue,
  type Leaf,
  type Outcome,
  textOf,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import { hireBy, messageOf, readArguments, toolSpec, truncateText } from "@ravi/kernel/loop";
import { describeWork, answerFrom, outcomeOf } from "../run/answer.ts";
import { isObject, readJson } from "../parse/json.ts";
import type { RewooStep } from "../parse/rewoo-plan.ts";

/** What a step found, or why it found nothing. */
export interface Evidence {
  readonly text: string;
  readonly isError: boolean;
}

/** The same limit as for a tool result in a tool loop. */
const MAX_CHARS = 50_000;

export function failed(why: string): Evidence {
  return { text: `error: ${why}`, isError: true };
}

/** The step as a leaf for a batch, or the reason why it cannot run. */
export async function leafFor(
  { id, tool: name, input }: RewooStep,
  { tools, runtime, inbox }: Dependencies,
  think: (input: string) => Leaf,
): Promise<Leaf | Evidence> {
  const tool = toolNamed(name, tools);
  if (tool === undefined) {
    if (name.toLowerCase() === "llm") return think(typeof input === "string" ? input : JSON.stringify(input));
    return failed(
      `unknown tool ${JSON.stringify(name)}; available tools: ${[...tools.map((known) => known.name), "LLM"].join(", ")}`,
    );
  }
  const call: ToolCall = { id, name: tool.name, arguments: JSON.stringify(argumentsFor(tool, input)) };
  if (!isDelegate(tool)) return { kind: "tool", call, tool };
  const parsed = await readArguments(call, tool, runtime.validator);
  if (!parsed.ok) return failed(parsed.problem);
  try {
    return hireBy(tool, parsed.value, inbox?.attachments);
  } catch (error) {
    return failed(messageOf(error));
  }
}

/** Reads the outcome of a step. An empty answer, or a model's answer that was cut off, counts as an error; a worker's partial answer is only marked. */
export function evidenceOf(outcome: Outcome): Evidence {
  if ("response" in outcome) {
    const { text, stopReason } = answerFrom(outcome.response);
    return stopReason === "done"
      ? { text, isError: false }
      : failed(`the answer is incomplete (${stopReason}): ${text}`);
  }
  if ("result" in outcome && "content" in outcome.result) {
    const { content, isError } = outcome.result;
    return { text: truncateText(textOf({ content }), MAX_CHARS), isError };
  }
  const worked = outcomeOf(outcome as Parameters<typeof outcomeOf>[0]);
  // An empty answer counts as nothing found.
  if (worked.error === undefined && worked.text.trim() === "")
    return failed(`no answer (${worked.stopReason})`);
  return { text: describeWork(worked), isError: worked.error !== undefined };
}

function toolNamed(name: string, tools: readonly (Tool | DelegateTool)[]): Tool | DelegateTool | undefined {
  return (
    tools.find((tool) => tool.name === name) ??
    tools.find((tool) => tool.name.toLowerCase() === name.toLowerCase())
  );
}

/** A plan may say `search[weather]`: a single text becomes the tool's first required parameter, or its first one. */
function argumentsFor(tool: Tool | DelegateTool, input: JsonValue): JsonObject {
  const { properties, required } = toolSpec(tool).parameters;
  const known: object = typeof properties === "object" && properties !== null ? properties : {};
  const typed = (name: string, value: JsonValue): JsonValue => valueFor(Reflect.get(known, name), value);
  if (isObject(input))
    return Object.fromEntries(
      Object.entries(input).map(([name, value]) => [name, value === undefined ? null : typed(name, value)]),
    );
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const first = needed[0] ?? Object.keys(known)[0];
  return typeof first === "string" ? { [first]: typed(first, input) } : {};
}

/** Results of other steps are texts. If the parameter has another type, the text is parsed: a number, a list. */
function valueFor(schema: unknown, value: JsonValue): JsonValue {
  if (typeof value !== "string" || typeof schema !== "object" || schema === null) return value;
  const type: unknown = Reflect.get(schema, "type");
  return typeof type !== "string" || type === "string" ? value : (readJson(value) ?? value);
}
