import type { ContentPart } from "@ravi/kernel";
import { field, isObject, plainType, textIn } from "@ravi/kernel/provider";
import { describeLink } from "./describe.ts";

type Part = Exclude<ContentPart, { type: "reasoning" }>;

/** Providers refuse a request with far more. */
const MAX_PARTS = 20;
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;
const BASE64 = /^[A-Za-z\d+/]*={0,2}$/;

/** Shows pictures and files as long as there is room for them. */
export class MediaRoom {
  private readonly maxBytes: number;
  private readonly clean: (text: string) => string;
  private bytes = 0;
  private parts = 0;

  constructor(maxBytes: number, clean: (text: string) => string) {
    this.maxBytes = maxBytes;
    this.clean = clean;
  }

  /** The part; or, if it cannot be shown, a text that says what was left out. Only `data:` URLs: nobody fetches what a server names. */
  show(part: unknown): Part {
    const media = mediaIn(part);
    if (media === undefined) return { type: "text", text: describeLink(part, this.clean) };
    const { data, mediaType, uri } = media;
    const name = uri === undefined ? undefined : fileName(this.clean(uri));
    const leftOut = (why: string): Part => {
      const what = MEDIA_TYPE.test(mediaType) ? mediaType : "content of an unknown type";
      return { type: "text", text: `[${what} was left out: ${why}]` };
    };
    if (!MEDIA_TYPE.test(mediaType)) return leftOut("its media type is none");
    if (!BASE64.test(data)) return leftOut("it is not base64");
    if (data === "") return leftOut("it is empty");
    const size = Math.floor((data.length * 3) / 4);
    if (this.bytes + size > this.maxBytes)
      return leftOut(`with its ${size} bytes, the result has more than ${this.maxBytes} bytes of media`);
    if (this.parts >= MAX_PARTS) return leftOut(`the result has more than ${MAX_PARTS} pictures and files`);
    this.bytes += size;
    this.parts++;
    const url = `data:${mediaType};base64,${data}`;
    if (mediaType.startsWith("image/")) return { type: "image", url, mediaType };
    return { type: "file", url, mediaType, ...(name !== undefined && { name }) };
  }
}

interface Media {
  readonly data: string;
  readonly mediaType: string;
  readonly uri?: string | undefined;
}

function mediaIn(part: unknown): Media | undefined {
  const type = field(part, "type");
  if (type === "image" || type === "audio") {
    const data = textIn(field(part, "data"));
    return data === undefined ? undefined : { data: unbroken(data), mediaType: typeIn(part) };
  }
  const resource = field(part, "resource");
  const blob = type === "resource" && isObject(resource) ? textIn(resource["blob"]) : undefined;
  if (blob === undefined) return undefined;
  return { data: unbroken(blob), mediaType: typeIn(resource), uri: textIn(field(resource, "uri")) };
}

function typeIn(value: unknown): string {
  return plainType(textIn(field(value, "mimeType")) ?? "application/octet-stream");
}

/** Many encoders break base64 into lines. */
function unbroken(base64: string): string {
  return base64.replaceAll(/[\t\n\r ]/g, "");
}

/** The last part of an address, as far as it can be the name of a file. */
function fileName(uri: string): string | undefined {
  const last = uri.slice(0, 2_000).split(/[?#]/, 1)[0]?.split("/").at(-1) ?? "";
  const name = last.replaceAll(/\p{Cc}/gu, "").slice(0, 200);
  return name === "" ? undefined : name;
}
