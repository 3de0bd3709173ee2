import type {
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { ContentPart, FilePart, ImagePart } from "@ravi/kernel";
import { leftOut, type Notice, plainType, unknownLeftOut } from "@ravi/kernel/provider";
import { readDataUrl } from "./data-url.ts";

/** The blocks that a user or a tool may send. */
export type InputBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam;

/** The content of a user's or a tool's message. A part that cannot be sent is replaced by a sentence that says so. */
export function inputBlocks(content: string | readonly ContentPart[], notice: Notice): InputBlock[] {
  if (typeof content === "string") return textBlocks(content);
  return content.flatMap((part) => {
    switch (part.type) {
      case "text":
        return textBlocks(part.text);
      case "image":
        return [imageBlock(part, notice)];
      case "file":
        return [fileBlock(part, notice)];
      case "reasoning":
        // Reasoning belongs to the assistant.
        return [];
      default:
        return [unknownNote(part, notice)];
    }
  });
}

/** An empty list for blank text, which the API refuses. */
export function textBlocks(text: string): TextBlockParam[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** A text that replaces an attachment that cannot be sent, with the reason. It is logged too. */
export function noteOf(part: ImagePart | FilePart, why: string, notice: Notice): TextBlockParam {
  return { type: "text", text: leftOut(part, why, notice) };
}

/** The same for a part of an unknown type, for example one of a newer version. */
export function unknownNote(part: unknown, notice: Notice): TextBlockParam {
  return { type: "text", text: unknownLeftOut(part, notice) };
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
const UPLOADED = /^file_[\w-]+$/;

function imageBlock(part: ImagePart | FilePart, notice: Notice): InputBlock {
  const { url } = part;
  if (UPLOADED.test(url)) return { type: "image", source: { type: "file", file_id: url } };
  if (/^https?:/i.test(url)) return { type: "image", source: { type: "url", url } };
  const inline = readDataUrl(url);
  if (inline === undefined) return noteOf(part, "its URL is neither an http(s): nor a data: URL", notice);
  const named = inline.mediaType || plainType(part.mediaType ?? "");
  const mediaType = IMAGE_TYPES.find((type) => type === named.replace("image/jpg", "image/jpeg"));
  if (mediaType === undefined) return noteOf(part, "only JPEG, PNG, GIF and WebP can be sent", notice);
  const data = inline.base64();
  if (data === "") return noteOf(part, "it is empty", notice);
  return { type: "image", source: { type: "base64", media_type: mediaType, data } };
}

function fileBlock(part: FilePart, notice: Notice): InputBlock {
  const { url, name } = part;
  const mediaType = plainType(part.mediaType);
  if (mediaType.startsWith("image/")) return imageBlock(part, notice);
  const title = name === undefined || name.trim() === "" ? {} : { title: name.slice(0, 500) };
  if (UPLOADED.test(url)) return { type: "document", source: { type: "file", file_id: url }, ...title };
  const isPdf = mediaType === "application/pdf";
  const inline = readDataUrl(url);
  if (inline === undefined) {
    return isPdf && /^https?:/i.test(url)
      ? { type: "document", source: { type: "url", url }, ...title }
      : noteOf(part, "of files at a URL, only PDF can be sent", notice);
  }
  if (isPdf) {
    const data = inline.base64();
    if (data === "") return noteOf(part, "it is empty", notice);
    return { type: "document", source: { type: "base64", media_type: "application/pdf", data }, ...title };
  }
  if (!/^(?:text\/|application\/(?:json|xml|x-yaml|yaml|javascript)$)/.test(mediaType)) {
    return noteOf(part, "only PDF and text can be sent", notice);
  }
  const data = inline.text();
  if (data.trim() === "") return noteOf(part, "it is empty", notice);
  return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...title };
}
