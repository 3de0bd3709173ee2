import type { ContentPart, JsonObject, JsonValue, ToolCall } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";
import { readOneOf, readOnly, readRequired, wrong } from "./anthropic-fields.ts";
import { readBoolean, readList, readObject, readOptional, readString } from "./read-json.ts";
import { isSealed, seal } from "./seal.ts";

/** One block of a message, as far as the kernel has a type for it. */
export type Block =
  | { readonly type: "part"; readonly part: ContentPart; readonly isThought: boolean }
  | { readonly type: "call"; readonly call: ToolCall }
  | {
      readonly type: "result";
      readonly id: string;
      readonly content: readonly ContentPart[];
      readonly isError: boolean;
    };

const ID = /^[\w-]+$/;
const NAME = /^[\w-]{1,128}$/;
const OF_ROLE = {
  user: ["text", "image", "document", "tool_result"],
  assistant: ["text", "thinking", "redacted_thinking", "tool_use"],
  system: ["text"],
} as const;

export type Role = keyof typeof OF_ROLE;

/** The content of a message: a text, or blocks. Empty content is refused. */
export function readBlocks(value: JsonValue | undefined, path: string, role: Role): readonly Block[] {
  const list =
    typeof value === "string" ? [{ type: "text", text: value }] : readRequired(value, path, readList);
  if (list.length === 0) throw wrong(path, "all messages must have non-empty content");
  return list.map((item, at) => readBlock(item, `${path}.${at}`, OF_ROLE[role]));
}

function readBlock(value: JsonValue, path: string, allowed: readonly string[]): Block {
  const block = readObject(value, path);
  const type = readOneOf(block["type"], `${path}.type`, allowed);
  const at = `${path}.${type}`;
  switch (type) {
    case "thinking":
      return { type: "part", part: readThinking(block, at), isThought: true };
    case "redacted_thinking": {
      const { data } = readOnly(block, at, ["type", "data"]);
      if (!isSealed(readString(data, `${at}.data`)))
        throw wrong(at, "Invalid `data` in `redacted_thinking` block");
      return { type: "part", part: { type: "reasoning", text: "" }, isThought: true };
    }
    case "tool_use":
      return { type: "call", call: readCall(block, at) };
    case "tool_result": {
      const fields = readOnly(block, at, ["type", "tool_use_id", "content", "is_error", "cache_control"]);
      const content = fields["content"] === undefined ? [] : readParts(fields["content"], `${at}.content`);
      const isError = readOptional(fields["is_error"], `${at}.is_error`, readBoolean) ?? false;
      if (isError && content.length === 0) throw wrong(at, "content cannot be empty if `is_error` is true");
      if (isError && content.some((part) => part.type !== "text")) {
        throw wrong(at, "all content must be type `text` if `is_error` is true");
      }
      return { type: "result", id: readId(fields["tool_use_id"], `${at}.tool_use_id`), content, isError };
    }
    default:
      return { type: "part", part: readPart(block, at), isThought: false };
  }
}

/** Reads text, images and documents, which may also be in a tool's result and in the system prompt. */
export function readParts(
  value: JsonValue,
  path: string,
  allowed: readonly string[] = ["text", "image", "document"],
): readonly ContentPart[] {
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  return readList(value, path).map((item, at) => {
    const block = readObject(item, `${path}.${at}`);
    readOneOf(block["type"], `${path}.${at}.type`, allowed);
    return readPart(block, `${path}.${at}`);
  });
}

function readPart(block: JsonObject, path: string): ContentPart {
  if (block["type"] === "text") {
    const { text, citations } = readOnly(block, path, ["type", "text", "cache_control", "citations"]);
    if (Array.isArray(citations) && citations.length > 0)
      throw wrong(path, "citations are not permitted here");
    const said = readRequired(text, `${path}.text`, readString);
    if (said === "") throw wrong("messages", "text content blocks must be non-empty");
    if (said.trim() === "") throw wrong("messages", "text content blocks must contain non-whitespace text");
    return { type: "text", text: said };
  }
  const isImage = block["type"] === "image";
  const fields = readOnly(block, path, [
    "type",
    "source",
    "cache_control",
    ...(isImage ? [] : ["title", "context", "citations"]),
  ]);
  const source = readObject(fields["source"], `${path}.source`);
  const { url, mediaType } = readSource(source, `${path}.source`, isImage);
  if (isImage) return { type: "image", url, mediaType };
  const name = readOptional(fields["title"], `${path}.title`, readString);
  return { type: "file", url, mediaType, ...(name === undefined ? {} : { name }) };
}

const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

function readSource(
  source: JsonObject,
  path: string,
  isImage: boolean,
): { readonly url: string; readonly mediaType: string } {
  const kinds = isImage ? (["base64", "url", "file"] as const) : (["base64", "url", "file", "text"] as const);
  const otherwise = isImage ? "image/*" : "application/pdf";
  switch (readOneOf(source["type"], `${path}.type`, kinds)) {
    case "url":
      return { url: readString(source["url"], `${path}.url`), mediaType: otherwise };
    case "file":
      return { url: readString(source["file_id"], `${path}.file_id`), mediaType: otherwise };
    case "text": {
      const data = readString(source["data"], `${path}.data`);
      const mediaType = readOneOf(source["media_type"], `${path}.media_type`, ["text/plain"]);
      return { url: `data:text/plain,${encodeURIComponent(data)}`, mediaType };
    }
    default: {
      const data = readString(source["data"], `${path}.data`);
      if (!/^[\w+/]*={0,2}$/.test(data) || data === "") throw wrong(`${path}.data`, "invalid base64 data");
      const allowed = isImage ? IMAGES : (["application/pdf"] as const);
      const mediaType = readOneOf(source["media_type"], `${path}.media_type`, allowed);
      return { url: `data:${mediaType};base64,${data}`, mediaType };
    }
  }
}

function readThinking(block: JsonObject, path: string): ContentPart {
  const { thinking, signature } = readOnly(block, path, ["type", "thinking", "signature"]);
  const text = readString(thinking, `${path}.thinking`);
  if (readRequired(signature, `${path}.signature`, readString) !== seal(text)) {
    throw wrong(path, "Invalid `signature` in `thinking` block");
  }
  return { type: "reasoning", text };
}

function readCall(block: JsonObject, path: string): ToolCall {
  const { id, name, input } = readOnly(block, path, [
    "type",
    "id",
    "name",
    "input",
    "cache_control",
    "caller",
  ]);
  const named = readString(name, `${path}.name`);
  if (!NAME.test(named)) throw wrong(`${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
  if (!isObject(input)) throw wrong(`${path}.input`, "Input should be a valid dictionary");
  return { id: readId(id, `${path}.id`), name: named, arguments: JSON.stringify(input) };
}

function readId(value: JsonValue | undefined, path: string): string {
  const id = readString(value, path);
  if (ID.test(id)) return id;
  throw wrong(path, "String should match pattern '^[a-zA-Z0-9_-]+$'");
}
