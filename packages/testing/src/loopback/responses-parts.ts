import type { ContentPart, JsonObject, JsonValue } from "@ravi/kernel";
import { invalid, readKnown, readList, readObject, readOptional, readString } from "./read-json.ts";

const CACHE_MARK = "prompt_cache_breakpoint";

/** Reads the content of a message or the output of a tool. */
export function readInputContent(
  value: JsonValue | undefined,
  param: string,
): string | readonly ContentPart[] {
  if (typeof value === "string") return value;
  return readList(value, param).map((item, index) =>
    readPart(readObject(item, `${param}[${index}]`), `${param}[${index}]`),
  );
}

function readPart(part: JsonObject, param: string): ContentPart {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
      return { type: "text", text: readString(part["text"], `${param}.text`) };
    case "refusal":
      return { type: "text", text: readString(part["refusal"], `${param}.refusal`) };
    case "input_image": {
      readKnown(part, param, ["type", "image_url", "file_id", "detail", CACHE_MARK]);
      return { type: "image", url: readString(part["image_url"] ?? part["file_id"], `${param}.image_url`) };
    }
    case "input_file": {
      readKnown(part, param, ["type", "file_data", "file_id", "file_url", "filename", "detail", CACHE_MARK]);
      const name = readOptional(part["filename"], `${param}.filename`, readString);
      const url = part["file_data"] ?? part["file_url"] ?? part["file_id"];
      return {
        type: "file",
        url: readString(url, `${param}.file_data`),
        mediaType: "application/octet-stream",
        ...(name === undefined ? {} : { name }),
      };
    }
    default:
      throw invalid(`${param}.type`, "one of input_text, output_text, refusal, input_image, input_file");
  }
}
