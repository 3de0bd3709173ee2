import type { FilePart, ImagePart } from "@ravi/kernel";
import { leftOut, type Notice } from "@ravi/kernel/provider";
import { base64 } from "../base64.ts";
import type { SpecificationVersion, SupportedUrls } from "../model.ts";

export interface FileTarget {
  readonly version: SpecificationVersion;
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
  const content = contentOf(part, target.supportedUrls);
  if ("problem" in content) return { type: "text", text: leftOut(part, content.problem, target.notice) };
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
  const content = contentOf(part, target.supportedUrls);
  if ("problem" in content) return { type: "text", text: leftOut(part, content.problem, target.notice) };
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

const DATA_URL = /^data:([^;,]*)((?:;[^,]*)?),/;

function contentOf(part: Attachment, supported: SupportedUrls): Content {
  const head = DATA_URL.exec(part.url);
  if (head !== null) {
    const body = part.url.slice(head[0].length);
    const mediaType = part.mediaType ?? (head[1] === undefined || head[1] === "" ? "text/plain" : head[1]);
    return /;\s*base64$/i.test(head[2] ?? "") ? { data: body, mediaType } : percentEncoded(body, mediaType);
  }
  const url = URL.canParse(part.url) ? new URL(part.url) : undefined;
  if (url === undefined) return { problem: "it has no valid URL" };
  const mediaType = part.mediaType ?? "image/*";
  if (!isSupported(url, mediaType, supported))
    return { problem: "this model accepts it only as a data: URL" };
  return { url, mediaType };
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
