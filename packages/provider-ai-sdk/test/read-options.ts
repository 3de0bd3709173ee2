import type { ChatMessage, ContentPart, ModelRequest } from "@ravi/kernel";
import type { AiSdkModel } from "../src/index.ts";

type Version = AiSdkModel["specificationVersion"];
type Options = Parameters<AiSdkModel["doGenerate"]>[0];
type Fields = Readonly<Record<string, unknown>>;

/** The request that options stand for, read strictly by the words of one version. What it does not know is refused. */
export function readOptions(options: Options, version: Version): ModelRequest {
  const { toolChoice, responseFormat, stopSequences, tools } = options;
  const choice = toolChoice as { type: string; toolName?: string } | undefined;
  const format = responseFormat as { type: string; name: string; schema: object } | undefined;
  if (version !== "v4" && options.reasoning !== undefined) throw new TypeError(`${version} has no reasoning`);
  const given = {
    temperature: options.temperature,
    topP: options.topP,
    maxOutputTokens: options.maxOutputTokens,
    seed: options.seed,
    stop: stopSequences,
    toolChoice: choice?.type === "tool" ? { name: choice.toolName } : choice?.type,
    output: format === undefined ? undefined : { name: format.name, schema: format.schema },
    tools: (tools as readonly Fields[] | undefined)?.map(({ type, name, description, inputSchema }) => {
      if (type !== "function") throw new TypeError(`a tool of the type ${String(type)}`);
      return { name, description, parameters: inputSchema };
    }),
  };
  const messages = (options.prompt as readonly Fields[]).flatMap((message) => readMessage(message, version));
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { messages, ...present };
}

function readMessage({ role, content }: Fields, version: Version): readonly ChatMessage[] {
  if (role === "system") return [{ role, content: String(content) }];
  const parts = content as readonly Fields[];
  if (parts.length === 0) throw new TypeError("a turn without anything in it");
  switch (role) {
    case "user":
      return [{ role, content: parts.map((part) => readPart(part, version)) }];
    case "assistant": {
      const calls = parts.filter(({ type }) => type === "tool-call");
      return [
        {
          role,
          content: parts.filter(({ type }) => type !== "tool-call").map((part) => readPart(part, version)),
          ...(calls.length === 0 ? {} : { toolCalls: calls.map(readCall) }),
        },
      ];
    }
    case "tool":
      return parts.map((part) => ({
        role,
        toolCallId: readId(part["toolCallId"]),
        name: String(part["toolName"]),
        content: readOutput(part["output"] as Fields, version),
      }));
    default:
      throw new TypeError(`a message of ${String(role)}`);
  }
}

function readCall(part: Fields): { id: string; name: string; arguments: string } {
  if (typeof part["input"] !== "object" || part["input"] === null)
    throw new TypeError("an input that is no object");
  return {
    id: readId(part["toolCallId"]),
    name: String(part["toolName"]),
    arguments: JSON.stringify(part["input"]),
  };
}

function readId(value: unknown): string {
  if (typeof value !== "string" || !/^[\w-]{1,40}$/.test(value))
    throw new TypeError("an id that servers refuse");
  return value;
}

function readOutput({ type, value }: Fields, version: Version): string | readonly ContentPart[] {
  if (type === "text" || type === "error-text") return String(value);
  if (type !== "content") throw new TypeError(`an output of the type ${String(type)}`);
  const media: Readonly<Record<Version, string>> = { v2: "media", v3: "image-data", v4: "file" };
  return (value as readonly Fields[]).map((part) => {
    if (part["type"] === "text") return readPart(part, version);
    if (part["type"] !== media[version])
      throw new TypeError(`${version} has no ${String(part["type"])} in an output`);
    return { type: "image", url: dataUrl(part, version) };
  });
}

function readPart(part: Fields, version: Version): ContentPart {
  switch (part["type"]) {
    case "text":
      if (part["text"] === "") throw new TypeError("a text that is empty");
      return { type: "text", text: String(part["text"]) };
    case "reasoning":
      return { type: "reasoning", text: String(part["text"]) };
    case "file": {
      const mediaType = String(part["mediaType"]);
      const url = dataUrl(part, version);
      return mediaType.startsWith("image/") ? { type: "image", url } : { type: "file", url, mediaType };
    }
    default:
      throw new TypeError(`a part of the type ${String(part["type"])}`);
  }
}

/** Base64 up to v3; from v4 on it says what it is. */
function dataUrl(part: Fields, version: Version): string {
  const { data, mediaType } = part;
  const base64 = version === "v4" ? (data as Fields)["data"] : data;
  if (typeof base64 !== "string") throw new TypeError(`data that ${version} does not know`);
  return `data:${String(mediaType)};base64,${base64}`;
}
