import type { AssistantMessage, ContentPart, ModelEvent, ModelResponse } from "@ravi/kernel";
import { field, listOf, stringOr } from "@ravi/kernel/provider";
import { reasoningKeepsake } from "../request/keepsake.ts";
import { type Ending, endingOf, finishReasonOf } from "./finish.ts";
import { assembleToolCalls } from "./tool-calls.ts";
import { usageOf } from "./usage.ts";

/** Gathers an answer, from the parts of a stream or from a whole one. */
export interface AnswerCollector {
  /** What a listener is told of one part of a stream. */
  add(part: unknown): readonly ModelEvent[];
  addWhole(result: unknown): void;
  /** Undefined while the model has not said that it is done. */
  readonly ending: Ending | undefined;
  response(): ModelResponse;
}

interface Thought {
  text: string;
  metadata: unknown;
}

export function collectAnswer(tag: string): AnswerCollector {
  const tools = assembleToolCalls(tag);
  /** In the order in which they began. */
  const thoughts = new Map<string, Thought>();
  const files: ContentPart[] = [];
  let text = "";
  let ending: Ending | undefined;
  let usage: ModelResponse["usage"];
  let id: string | undefined;
  let model: string | undefined;

  const thoughtOf = (key: string): Thought => {
    const known = thoughts.get(key) ?? { text: "", metadata: undefined };
    thoughts.set(key, known);
    return known;
  };
  const think = (key: string, part: unknown, delta: string): ModelEvent[] => {
    const thought = thoughtOf(key);
    thought.text += delta;
    // A signature comes with the last piece, or as a piece of its own.
    thought.metadata = field(part, "providerMetadata") ?? thought.metadata;
    return delta === "" ? [] : [{ type: "reasoning", delta }];
  };
  const readHead = (part: unknown): void => {
    id = stringOr(field(part, "id"), undefined) ?? id;
    model = stringOr(field(part, "modelId"), undefined) ?? model;
  };
  const readEnd = (part: unknown): void => {
    ending = endingOf(field(part, "finishReason"));
    usage = usageOf(field(part, "usage"));
  };

  const add = (part: unknown): readonly ModelEvent[] => {
    const key = stringOr(field(part, "id"), "");
    const delta = stringOr(field(part, "delta"), "");
    switch (field(part, "type")) {
      case "text-delta":
        text += delta;
        return delta === "" ? [] : [{ type: "text", delta }];
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
        if (type === "text") text += said;
        else if (type === "reasoning") think(String(index), part, said);
        else add(part);
      }
      if (text === "") text = stringOr(field(result, "structuredOutputText"), "");
      readEnd(result);
    },
    get ending() {
      return ending;
    },
    response() {
      const calls = tools.calls();
      const parts: ContentPart[] = [
        ...[...thoughts.values()].map(({ text: thought, metadata }): ContentPart => ({
          type: "reasoning",
          text: thought,
          opaque: reasoningKeepsake(tag, metadata),
        })),
        ...(text === "" ? [] : [{ type: "text" as const, text }]),
        ...files,
      ];
      const content: AssistantMessage["content"] = parts.every(({ type }) => type === "text") ? text : parts;
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

/** A file that the model made, as a `data:` URL or a link. Bytes or base64 up to v3, an object around them in v4. */
function filesOf(part: unknown): ContentPart[] {
  const mediaType = stringOr(field(part, "mediaType"), "application/octet-stream");
  const given = field(part, "data");
  const data = field(given, "data") ?? field(given, "url") ?? given;
  const url =
    data instanceof Uint8Array
      ? `data:${mediaType};base64,${Buffer.from(data).toString("base64")}`
      : data instanceof URL
        ? data.href
        : typeof data === "string"
          ? `data:${mediaType};base64,${data}`
          : undefined;
  if (url === undefined) return [];
  return [
    mediaType.startsWith("image/") ? { type: "image", url, mediaType } : { type: "file", url, mediaType },
  ];
}
