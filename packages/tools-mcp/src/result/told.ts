import { checkPlainJson, type ContentPart, toolContent, ToolError } from "@ravi/kernel";
import { messageOf, shorten, truncateText } from "@ravi/kernel/loop";
import { field, listOf } from "@ravi/kernel/provider";
import { describeLink, textOfPart } from "./describe.ts";
import { MediaRoom } from "./media.ts";

/** How much of a result the model is told. */
interface ResultLimits {
  readonly maxResultChars: number;
  readonly maxMediaBytes: number;
}

export interface ResultReading extends ResultLimits {
  /** Removes secrets. */
  readonly clean: (text: string) => string;
}

/**
 * What the model is told of a result. Structured content stands for all texts, which repeat it. Pictures and files are shown as such if
 * they came along: of a link the model is told the address, and nobody is sent there.
 */
export function toldOf(result: unknown, reading: ResultReading): unknown {
  const structured = field(result, "structuredContent");
  const data = structured === undefined ? undefined : dataOf(structured, reading);
  const parts = partsOf(result, reading, data !== undefined);
  if (parts.every(({ type }) => type === "text")) {
    const text = parts.map(textIn).join("\n");
    if (data === undefined) return truncateText(text, reading.maxResultChars);
    if (text === "") return data;
  }
  if (data !== undefined)
    parts.unshift({ type: "text", text: typeof data === "string" ? data : JSON.stringify(data) });
  return toolContent(shorten(parts, reading.maxResultChars) as typeof parts);
}

/** What the model is told of a result that is an error. */
export function problemOf(result: unknown, reading: ResultReading): string {
  const texts = listOf(field(result, "content")).map(
    (part) => textOfPart(part) ?? describeLink(part, reading.clean),
  );
  const text = reading.clean(texts.join("\n")).trim();
  const structured = field(result, "structuredContent");
  if (text === "" && structured !== undefined) {
    const data = dataOf(structured, reading);
    return typeof data === "string" ? data : JSON.stringify(data);
  }
  return truncateText(
    text === "" ? "the server says that it failed, and not why" : text,
    reading.maxResultChars,
  );
}

/** The data; as a text if it is too long or has a secret in it that is no text. */
function dataOf(structured: unknown, { clean, maxResultChars }: ResultReading): unknown {
  if (typeof structured === "string") return truncateText(clean(structured), maxResultChars);
  try {
    checkPlainJson("structuredContent", structured);
  } catch (error) {
    throw new ToolError({ message: `the server's result cannot be used: ${messageOf(error)}` });
  }
  const whole = JSON.stringify(structured);
  const text = clean(whole);
  if (text.length > maxResultChars) return truncateText(text, maxResultChars);
  if (text === whole) return structured;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Part = Exclude<ContentPart, { type: "reasoning" }>;

/** Texts that follow each other become one, since a server may send thousands. */
function partsOf(result: unknown, reading: ResultReading, hasData: boolean): Part[] {
  const room = new MediaRoom(reading.maxMediaBytes, reading.clean);
  const parts: Part[] = [];
  for (const given of listOf(field(result, "content"))) {
    const text = textOfPart(given);
    const part: Part = text === undefined ? room.show(given) : { type: "text", text };
    if (part.type !== "text") parts.push(part);
    else if (text === undefined || !hasData || field(given, "type") !== "text") {
      const last = parts.at(-1);
      const cleaned = reading.clean(part.text);
      if (last?.type === "text") parts[parts.length - 1] = { type: "text", text: `${last.text}\n${cleaned}` };
      else parts.push({ type: "text", text: cleaned });
    }
  }
  return parts;
}

function textIn(part: Part): string {
  return part.type === "text" ? part.text : "";
}
