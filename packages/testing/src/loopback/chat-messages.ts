import { type ChatMessage, type ContentPart, type JsonValue, textOf, type ToolCall } from "@ravi/kernel";
import { invalid, readId, readList, readName, readObject, readOptional, readString } from "./read-json.ts";

const MAX_ID = 40;

/** The conversation of a Chat Completions request, as messages of the kernel. */
export function readMessages(value: JsonValue | undefined): readonly ChatMessage[] {
  const list = readList(value, "messages");
  if (list.length === 0) throw invalid("messages", "an array with at least one message");
  /** Tool messages carry no tool name; it is taken from the latest call with their id. */
  const names = new Map<string, string>();
  return list.map((item, index) => {
    const message = readMessage(item, `messages[${index}]`, names);
    if (message.role === "assistant")
      for (const call of message.toolCalls ?? []) names.set(call.id, call.name);
    return message;
  });
}

function readMessage(value: JsonValue, param: string, names: ReadonlyMap<string, string>): ChatMessage {
  const message = readObject(value, param);
  const role = readString(message["role"], `${param}.role`);
  const content = readContent(message["content"], `${param}.content`);
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf({ content }) };
    case "user":
      return { role, content };
    case "assistant": {
      const toolCalls = readOptional(message["tool_calls"], `${param}.tool_calls`, readToolCalls);
      return { role, content, ...(toolCalls === undefined ? {} : { toolCalls }) };
    }
    case "tool": {
      const toolCallId = readId(message["tool_call_id"], `${param}.tool_call_id`, MAX_ID);
      return { role, toolCallId, name: names.get(toolCallId) ?? "", content };
    }
    default:
      throw invalid(`${param}.role`, "one of system, developer, user, assistant, tool");
  }
}

function readToolCalls(value: JsonValue, param: string): readonly ToolCall[] {
  return readList(value, param).map((item, index) => {
    const at = `${param}[${index}]`;
    const call = readObject(item, at);
    const target = readObject(call["function"], `${at}.function`);
    return {
      id: readId(call["id"], `${at}.id`, MAX_ID),
      name: readName(target["name"], `${at}.function.name`),
      arguments: readString(target["arguments"], `${at}.function.arguments`),
    };
  });
}

function readContent(value: JsonValue | undefined, param: string): string | readonly ContentPart[] {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return readList(value, param).map((item, index) => readPart(item, `${param}[${index}]`));
}

function readPart(value: JsonValue, param: string): ContentPart {
  const part = readObject(value, param);
  switch (part["type"]) {
    case "text":
      return { type: "text", text: readString(part["text"], `${param}.text`) };
    case "refusal":
      return { type: "text", text: readString(part["refusal"], `${param}.refusal`) };
    case "image_url": {
      const image = readObject(part["image_url"], `${param}.image_url`);
      return { type: "image", url: readString(image["url"], `${param}.image_url.url`) };
    }
    case "file": {
      const file = readObject(part["file"], `${param}.file`);
      const url = file["file_data"] ?? file["file_id"];
      const name = readOptional(file["filename"], `${param}.file.filename`, readString);
      return {
        type: "file",
        url: readString(url, `${param}.file.file_data`),
        mediaType: "application/octet-stream",
        ...(name === undefined ? {} : { name }),
      };
    }
    case "input_audio": {
      const audio = readObject(part["input_audio"], `${param}.input_audio`);
      const format = readString(audio["format"], `${param}.input_audio.format`);
      const mediaType = format === "mp3" ? "audio/mpeg" : `audio/${format}`;
      const data = readString(audio["data"], `${param}.input_audio.data`);
      return { type: "file", url: `data:${mediaType};base64,${data}`, mediaType };
    }
    default:
      throw invalid(`${param}.type`, "one of text, refusal, image_url, input_audio, file");
  }
}
