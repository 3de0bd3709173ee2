import type { ContentPart, FilePart, ImagePart, JsonObject } from "@ravi/kernel";
import { leftOut, type Notice } from "@ravi/kernel/provider";

/** The parts of a user's message or of a tool's result. What has no place is replaced by a sentence that says so. */
export function inputParts(parts: readonly ContentPart[], notice: Notice): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case "text":
        return [inputText(part.text)];
      case "image":
        return [imagePart(part)];
      case "file":
        return [filePart(part, notice)];
      default:
        // Reasoning is the assistant's own.
        return [];
    }
  });
}

export function inputText(text: string): JsonObject {
  return { type: "input_text", text };
}

/** The id of a file that was uploaded before. */
const UPLOADED = /^file-[\w-]+$/;

function imagePart({ url }: Pick<ImagePart, "url">): JsonObject {
  return UPLOADED.test(url)
    ? { type: "input_image", detail: "auto", file_id: url }
    : { type: "input_image", detail: "auto", image_url: url };
}

function filePart(part: FilePart, notice: Notice): JsonObject {
  const { url, mediaType, name } = part;
  if (mediaType.startsWith("image/")) return imagePart(part);
  if (mediaType.startsWith("audio/") || mediaType.startsWith("video/")) {
    notice("sound and film are left out: the Responses API takes none");
    return inputText(leftOut(part, "only text, images and documents can be sent here"));
  }
  if (UPLOADED.test(url)) return { type: "input_file", file_id: url };
  if (url.startsWith("data:")) return { type: "input_file", file_data: url, filename: name ?? "file" };
  return { type: "input_file", file_url: url };
}
