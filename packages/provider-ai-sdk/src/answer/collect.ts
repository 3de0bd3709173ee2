import {
  type AssistantMessage,
  type ContentPart,
  type ModelEvent,
  type ModelResponse,
  textOf,
  type ToolSpec,
} from "@ravi/kernel";
import { field, isObject, listOf, stringOr } from "@ravi/kernel/provider";
import { base64 } from "../base64.ts";
import { isBound, isCompaction, keep, tagOf, textMetadata } from "../request/provider-metadata.ts";
import type { AiSdkModel } from "../model.ts";
import { type Ending, endingOf, finishReasonOf } from "./finish.ts";
import { assembleToolCalls } from "./tool-calls.ts";
import { usageOf } from "./usage.ts";

/** Collects an answer, from the parts of a stream or from a whole one. */
export interface AnswerCollector {
  /** Adds one part of a stream. Returns the events to emit. */
  add(part: unknown): readonly ModelEvent[];
  /** Adds the result of `doGenerate`. */
  addWhole(result: unknown): void;
  /** How the answer ended; undefined until the model says so. */
  ending(): Ending | undefined;
  /** The response as collected so far. */
  response(): ModelResponse;
}

/** A piece of text, or of reasoning. */
interface Passage {
  readonly type: "text" | "reasoning";
  text: string;
  metadata: object | undefined;
  /** The number of tool calls before it. */
  readonly calls: number;
}

/** Collects the answer of one model to a request with these tools. Data that must be sent back is marked with its provider. */
export function collectAnswer(
  { provider, modelId }: Pick<AiSdkModel, "provider" | "modelId">,
  toolSpecs: readonly ToolSpec[] = [],
): AnswerCollector {
  const tag = tagOf(provider);
  const tools = assembleToolCalls({ tag, toolNames: new Set(toolSpecs.map(({ name }) => name)) });
  /** In the order in which they began: some servers refuse thoughts that are not in their original place. */
  const passages: Passage[] = [];
  const thoughts = new Map<string, Passage>();
  const files: ContentPart[] = [];
  let ending: Ending | undefined;
  let usage: ModelResponse["usage"];
  let id: string | undefined;
  let model: string | undefined;

  const begin = (type: Passage["type"]): Passage => {
    const passage: Passage = { type, text: "", metadata: undefined, calls: tools.size() };
    passages.push(passage);
    return passage;
  };
  const thoughtOf = (key: string): Passage => {
    const known = thoughts.get(key) ?? begin("reasoning");
    thoughts.set(key, known);
    return known;
  };
  /** Texts become one, unless the provider needs something back with one of them. */
  const say = (part: unknown, delta: string, isStart: boolean): ModelEvent[] => {
    const metadata = textMetadata(field(part, "providerMetadata"));
    const last = passages.at(-1);
    const isNext = isStart && last?.type === "text" && (metadata ?? last.metadata) !== undefined;
    if (delta === "" && metadata === undefined && !isNext) return [];
    const passage = last?.type === "text" && !isNext ? last : begin("text");
    passage.text += delta;
    passage.metadata = metadata ?? passage.metadata;
    return delta === "" || isCompaction(passage.metadata) ? [] : [{ type: "text", delta }];
  };
  const think = (key: string, part: unknown, delta: string): ModelEvent[] => {
    const thought = thoughtOf(key);
    thought.text += delta;
    // A signature comes with the last piece, or as a piece of its own.
    const metadata = field(part, "providerMetadata");
    if (isObject(metadata)) thought.metadata = metadata;
    return delta === "" ? [] : [{ type: "reasoning", delta }];
  };
  const readHead = (part: unknown): void => {
    id = stringOr(field(part, "id"), undefined) ?? id;
    model = stringOr(field(part, "modelId"), undefined) ?? model;
  };
  const readEnd = (part: unknown): void => {
    ending = endingOf(field(part, "finishReason"));
    usage = usageOf(field(part, "usage"), { provider, metadata: field(part, "providerMetadata") });
  };

  const add = (part: unknown): readonly ModelEvent[] => {
    const key = stringOr(field(part, "id"), "");
    const delta = stringOr(field(part, "delta"), "");
    switch (field(part, "type")) {
      case "text-start":
      case "text-delta":
      case "text-end":
        return say(part, delta, field(part, "type") === "text-start");
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return think(key, part, delta);
      case "file":
        files.push(...filesOf(part));
        return [];
      case "response-metadata":
        readHead(part);
        return [];
      case "finish":
        readEnd(part);
        return [];
      default:
        return tools.add(part);
    }
  };

  return {
    add,
    addWhole(result) {
      readHead(field(result, "response"));
      for (const [index, part] of listOf(field(result, "content")).entries()) {
        const said = stringOr(field(part, "text"), "");
        const type = field(part, "type");
        if (type === "text") say(part, said, true);
        else if (type === "reasoning") think(String(index), part, said);
        else add(part);
      }
      if (!passages.some(({ type }) => type === "text"))
        say(undefined, stringOr(field(result, "structuredOutputText"), ""), true);
      readEnd(result);
    },
    ending: () => ending,
    response() {
      const calls = tools.calls();
      const parts: ContentPart[] = [
        ...passages.flatMap((passage) => partsOf(passage, tag, modelId)),
        ...files,
      ];
      const isText = parts.every(({ type }) => type === "text");
      const content: AssistantMessage["content"] = isText ? textOf({ content: parts }) : parts;
      const reason = ending === undefined || ending.reason === "error" ? "other" : ending.reason;
      return {
        message: { role: "assistant", content, ...(calls.length === 0 ? {} : { toolCalls: calls }) },
        finishReason: finishReasonOf(reason, calls.length > 0),
        ...(usage === undefined ? {} : { usage }),
        ...(model === undefined ? {} : { model }),
        ...(id === undefined ? {} : { id }),
      };
    },
  };
}

/** What a provider needs back with a text is kept in a reasoning part before it; so is a text that is not part of the answer. */
function partsOf({ type, text, metadata, calls }: Passage, tag: string, modelId: string): ContentPart[] {
  const model = isBound(metadata) ? modelId : undefined;
  if (type === "reasoning") return [{ type, text, opaque: keep(tag, { metadata, calls, model }) }];
  const said: ContentPart[] = text === "" ? [] : [{ type, text }];
  if (metadata === undefined) return said;
  const isHidden = text === "" || isCompaction(metadata);
  const opaque = keep(tag, { metadata, calls, model, of: isHidden ? { text } : "next text" });
  return [{ type: "reasoning", text: "", opaque }, ...(isHidden ? [] : said)];
}

/** A file that the model made, as a `data:` URL or a link. */
function filesOf(part: unknown): ContentPart[] {
  const mediaType = stringOr(field(part, "mediaType"), "application/octet-stream");
  const url = urlOf(field(part, "data"), mediaType);
  if (url === undefined) return [];
  return [
    mediaType.startsWith("image/") ? { type: "image", url, mediaType } : { type: "file", url, mediaType },
  ];
}

/** In v2 and v3 it is bytes or base64, in v4 an object around them or around a link. */
function urlOf(given: unknown, mediaType: string): string | undefined {
  const link = field(given, "url");
  if (typeof link === "string") return link;
  const data = field(given, "data") ?? link ?? given;
  if (data instanceof URL) return data.href;
  const text = data instanceof Uint8Array ? base64(data) : data;
  return typeof text === "string" ? `data:${mediaType};base64,${text}` : undefined;
}
