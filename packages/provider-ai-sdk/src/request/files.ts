import type { FilePart, ImagePart } from "@ravi/kernel";
import { leftOut, type Notice, plainType } from "@ravi/kernel/provider";
import { base64, textOfBase64 } from "../base64.ts";
import type { SpecificationVersion, SupportedUrls } from "../model.ts";

/** Which files are sent as files. */
export type SentFiles = "all" | "images" | "none";

export interface FileTarget {
  readonly version: SpecificationVersion;
  readonly files: SentFiles;
  readonly supportedUrls: SupportedUrls;
  /** Logs what is left out. */
  readonly notice: Notice;
}

type Attachment = ImagePart | FilePart;

/** The content of an attachment: bytes as base64, or a URL that the model reads itself. */
type Content =
  | { readonly data: string; readonly mediaType: string }
  | { readonly url: URL; readonly mediaType: string }
  /** Why it cannot be sent. */
  | { readonly problem: string };

/** An attachment in a user's message. */
export function filePart(part: Attachment, target: FileTarget): object {
  const content = sendable(part, target);
  if ("text" in content) return { type: "text", ...content };
  const { mediaType } = content;
  const name = part.type === "file" && part.name !== undefined ? { filename: part.name } : {};
  if (target.version !== "v4") {
    return { type: "file", mediaType, ...name, data: "data" in content ? content.data : content.url };
  }
  const data = "data" in content ? { type: "data", data: content.data } : { type: "url", url: content.url };
  return { type: "file", mediaType, ...name, data };
}

/** An attachment in a tool's result, which each version writes differently. */
export function toolFilePart(part: Attachment, target: FileTarget): object {
  if (target.version === "v4") return filePart(part, target);
  const content = sendable(part, target);
  if ("text" in content) return { type: "text", ...content };
  const { mediaType } = content;
  if (target.version === "v3") {
    const kind = mediaType.startsWith("image/") ? "image" : "file";
    if ("url" in content) return { type: `${kind}-url`, url: content.url.href };
    return { type: `${kind}-data`, data: content.data, mediaType };
  }
  if ("url" in content)
    return { type: "text", text: leftOut(part, "it can only be sent as a data: URL", target.notice) };
  return { type: "media", data: content.data, mediaType };
}

type Readable = Exclude<Content, { readonly problem: string }>;

/** What is sent of an attachment: its content, or a text in its place. */
function sendable(
  part: Attachment,
  { files, supportedUrls, notice }: FileTarget,
): Readable | { readonly text: string } {
  const content = contentOf(part, supportedUrls);
  if ("problem" in content) return { text: leftOut(part, content.problem, notice) };
  return isSent(content, files) ? content : { text: insteadOf(part, content, notice) };
}

function isSent({ mediaType }: Readable, files: SentFiles): boolean {
  return files === "all" || (files === "images" && mediaType.startsWith("image/"));
}

/** The text that is sent instead of a file that the model does not accept: what is in it, or that it was left out. */
function insteadOf(part: Attachment, content: Readable, notice: Notice): string {
  const isText = /^(?:text\/|application\/(?:json|xml|yaml)$)/.test(content.mediaType);
  const text = isText && "data" in content ? textOfBase64(content.data) : undefined;
  if (text === undefined) return leftOut(part, "this model does not accept it", notice);
  if (text === "") return leftOut(part, "it is empty", notice);
  notice("a text file is sent as text: this model does not accept it as a file");
  return part.type === "file" && part.name !== undefined ? `${part.name}:\n${text}` : text;
}

const DATA_URL = /^data:([^;,]*)((?:;[^,]*)?),/;

function contentOf(part: Attachment, supported: SupportedUrls): Content {
  const head = DATA_URL.exec(part.url);
  if (head !== null) {
    const body = part.url.slice(head[0].length);
    const named = head[1] === undefined || head[1] === "" ? untyped(part) : head[1];
    const mediaType = plainType(part.mediaType ?? named);
    // Its tokens were estimated as those of an image, and a text may have many more.
    if (part.type === "image" && !mediaType.startsWith("image/")) return { problem: "it is not an image" };
    return /;\s*base64$/i.test(head[2] ?? "") ? { data: body, mediaType } : percentEncoded(body, mediaType);
  }
  const url = URL.canParse(part.url) ? new URL(part.url) : undefined;
  if (url === undefined) return { problem: "it has no valid URL" };
  const mediaType = plainType(part.mediaType ?? imageTypeOf(url));
  if (!isSupported(url, mediaType, supported))
    return { problem: "this model accepts it only as a data: URL" };
  return { url, mediaType };
}

function untyped({ type }: Attachment): string {
  return type === "image" ? "image/*" : "text/plain";
}

/** By the end of its name. Not every provider accepts an image of any type. */
function imageTypeOf({ pathname }: URL): string {
  const [, type] = /\.(png|gif|webp|jpe?g)$/i.exec(pathname) ?? [];
  return type === undefined ? "image/*" : `image/${type.toLowerCase().replace("jpg", "jpeg")}`;
}

function percentEncoded(body: string, mediaType: string): Content {
  try {
    return { data: base64(new TextEncoder().encode(decodeURIComponent(body))), mediaType };
  } catch {
    return { problem: "its data: URL is invalid" };
  }
}

function isSupported(url: URL, mediaType: string, supported: SupportedUrls): boolean {
  return Object.entries(supported).some(([types, patterns]) => {
    const prefix = types.replace(/\*.*$/, "");
    return mediaType.startsWith(prefix) && patterns.some((pattern) => url.href.search(pattern) !== -1);
  });
}
