import type { JsonObject, ModelRequest, ToolSpec } from "@ravi/kernel";
import { headerText, inputSchema } from "@ravi/kernel/provider";
import type { AiSdkCallOptions } from "../model.ts";
import { promptOf, type PromptTarget } from "./prompt.ts";

export interface CallTarget extends PromptTarget {
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly providerOptions: Readonly<Record<string, JsonObject>> | undefined;
}

/** The options of `doGenerate` and `doStream` for a request. Undefined fields are left out. */
export function callOptions(
  request: ModelRequest,
  target: CallTarget,
  idempotencyKey: string | undefined,
): AiSdkCallOptions {
  const { tools = [], stop = [], output, reasoning } = request;
  const headers = {
    ...target.headers,
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": headerText(idempotencyKey) }),
  };
  if (reasoning?.effort !== undefined && target.version !== "v4") {
    target.notice(
      `reasoning.effort was left out: version ${target.version} of the AI SDK's interface has no setting for it; use providerOptions`,
    );
  }
  if (reasoning?.summary !== undefined) {
    target.notice("reasoning.summary was left out: the AI SDK has no setting for it; use providerOptions");
  }
  const options = {
    prompt: promptOf(request.messages, target),
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    stopSequences: stop.length === 0 ? undefined : [...stop],
    seed: request.seed,
    tools: tools.length === 0 ? undefined : tools.map(functionTool),
    toolChoice: tools.length === 0 ? undefined : toolChoice(request.toolChoice),
    responseFormat:
      output === undefined ? undefined : { type: "json", name: output.name, schema: output.schema },
    reasoning: target.version === "v4" ? reasoning?.effort : undefined,
    providerOptions: merged(target.providerOptions, request.providerOptions),
    headers: Object.keys(headers).length === 0 ? undefined : headers,
  };
  return withoutUndefined(options);
}

function functionTool({ name, description, parameters }: ToolSpec): object {
  return { type: "function", name, description, inputSchema: inputSchema(parameters) };
}

function toolChoice(choice: ModelRequest["toolChoice"]): object | undefined {
  if (choice === undefined) return undefined;
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.name };
}

/** The request's settings override the others one by one. */
function merged(
  base: Readonly<Record<string, JsonObject>> | undefined,
  over: Readonly<Record<string, JsonObject>> | undefined,
): Readonly<Record<string, JsonObject>> | undefined {
  if (base === undefined) return over;
  const names = new Set([...Object.keys(base), ...Object.keys(over ?? {})]);
  return Object.fromEntries([...names].map((name) => [name, { ...base[name], ...over?.[name] }]));
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function withoutUndefined<T extends { readonly prompt: readonly object[] }>(
  options: T,
): Pick<T, "prompt"> & Partial<Given<Omit<T, "prompt">>> {
  const { prompt, ...rest } = options;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { ...(Object.fromEntries(given) as Partial<Given<Omit<T, "prompt">>>), prompt };
}
