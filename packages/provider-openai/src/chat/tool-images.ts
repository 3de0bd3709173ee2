import type { FilePart, ImagePart, ToolMessage } from "@ravi/kernel";
import { field, isObject, listOf, plainName, textIn } from "@ravi/kernel/provider";
import type {
  ChatCompletionContentPart,
  ChatCompletionUserMessageParam,
} from "openai/resources/chat/completions";

/** How the text before an image of a tool begins. */
const TOOL_IMAGE = /^\[image \d+, returned by /;

/**
 * Images that tools return. A tool message can only be text, so they follow in a user message, as most clients send them. It stands
 * after all tool messages of the turn: servers refuse anything between these.
 */
export class ToolImages {
  private parts: ChatCompletionContentPart[] = [];
  private count = 0;

  /** Adds an image, and returns what stands for it in the result of the tool. */
  add({ name }: ToolMessage, { url }: ImagePart | FilePart): string {
    const image = `image ${++this.count}`;
    this.parts.push(
      { type: "text", text: `[${image}, returned by ${plainName(name)}]` },
      { type: "image_url", image_url: { url } },
    );
    return `[${image} follows]`;
  }

  /** The message with the images that were added since the last call, if there are any. */
  take(): ChatCompletionUserMessageParam[] {
    if (this.count === 0) return [];
    const content = this.parts;
    this.parts = [];
    this.count = 0;
    return [{ role: "user", content }];
  }
}

/** How servers say that a model takes no images. */
const NO_IMAGES: readonly RegExp[] = [
  /\bimages?\b.{0,60}(?:not supported|unsupported|is unavailable)/i,
  /not support(?:ed)?\b.{0,40}\b(?:images?|vision|multi-?modal)/i,
  /endpoints found that support image/i,
  /image_url.{0,20} is only supported by/i,
  /unknown variant .?image_url/i,
  /unknown part type: .?image_url/i,
  /not a multi-?modal model/i,
  /at most 0 image/i,
  /\bcontent\b.{0,40}must be a string/i,
];

/** One image cannot be read; the model could read others. */
const BAD_IMAGE = /format|media.?type|mime|decode|download|too (?:large|many|big)|dimension/i;

/** Whether the server says that the model takes no images. */
export function refusesImages(words: string): boolean {
  return !BAD_IMAGE.test(words) && NO_IMAGES.some((each) => each.test(words));
}

/** The message without the images of tools that are in it; undefined if there are none. The user's own are not left out. */
export function withoutToolImages(
  message: unknown,
  text = "[an image was left out: this model takes no images]",
): object | undefined {
  const parts = listOf(field(message, "content"));
  const isFromTools = parts.some((part) => TOOL_IMAGE.test(textIn(field(part, "text")) ?? ""));
  const isImage = (part: unknown): boolean => field(part, "type") === "image_url";
  if (!isObject(message) || !isFromTools || !parts.some(isImage)) return undefined;
  const note = { type: "text", text };
  return { ...message, content: parts.map((part) => (isImage(part) ? note : part)) };
}
