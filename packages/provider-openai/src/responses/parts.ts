import type { ContentPart, FilePart, ImagePart, JsonObject } from "@ravi/kernel";
import { leftOut, type Notice, plainType, unknownLeftOut } from "@ravi/kernel/provider";
import { isAddress, isImage, isUploaded } from "../request/attachment.ts";

/** The parts of a user's message or a tool's result. A part that cannot be sent is replaced by a sentence that says so. */
export function inputParts(parts: readonly ContentPart[], notice: Notice): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case "text":
        return [inputText(part.text)];
      case "image":
        return [imagePart(part, notice)];
      case "file":
        return [filePart(part, notice)];
      case "reasoning":
        // Reasoning belongs to the assistant.
        return [];
      default:
        return [inputText(unknownLeftOut(part, notice))];
    }
  });
}

export function inputText(text: string): JsonObject {
  return { type: "input_text", text };
}

function imagePart(part: ImagePart | FilePart, notice: Notice): JsonObject {
  const { url } = part;
  if (isUploaded(url)) return { type: "input_image", detail: "auto", file_id: url };
  return isAddress(url)
    ? { type: "input_image", detail: "auto", image_url: url }
    : withoutAddress(part, notice);
}

function withoutAddress(part: ImagePart | FilePart, notice: Notice): JsonObject {
  const logged = "images and files without a valid URL are left out";
  return inputText(leftOut(part, "it has no valid URL", notice, logged));
}

function filePart(part: FilePart, notice: Notice): JsonObject {
  const { url, mediaType, name } = part;
  if (isImage(part)) return imagePart(part, notice);
  if (/^(?:audio|video)\//.test(plainType(mediaType))) {
    const logged = "audio and video are left out: the Responses API does not accept them";
    return inputText(leftOut(part, "only text, images and documents can be sent here", notice, logged));
  }
  if (isUploaded(url)) return { type: "input_file", file_id: url };
  if (url.startsWith("data:")) return { type: "input_file", file_data: url, filename: name ?? "file" };
  return isAddress(url) ? { type: "input_file", file_url: url } : withoutAddress(part, notice);
}
