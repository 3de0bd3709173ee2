import { listOf } from "@ravi/kernel/provider";
import type { RequestBody } from "../wire/protocol.ts";
import { keyOf, type Rejection, type Remedy } from "./corrections.ts";

/** Where a protocol has the images that tools return. */
export interface ImagePlace {
  readonly list: "messages" | "input";
  /** The item of the list with a note instead of each image; undefined if it has none of a tool. */
  readonly without: (item: unknown, note: string) => object | undefined;
}

const CODE = /image_(?:parse|too|file|format)|(?:invalid|empty|unsupported)_(?:\w+_)?image(?!_mode)/;
const WORDS =
  /does not represent a valid image|could not process image|(?:unsupported|invalid|provided) image\b|image.{0,20}(?:media type|is not valid|too large)/i;
const NOTE = "[an image was left out: it cannot be read]";

/**
 * What to do if the server cannot read an image: each later request would be refused because of it. It rarely says which one, so those of tools
 * that were sent are left out; those of later turns, and the user's own, are not.
 */
export function imageRemedy(
  { status, code, message }: Rejection,
  sent: RequestBody,
  { list, without }: ImagePlace,
): Remedy | undefined {
  if ((status !== 400 && status !== 422) || !(CODE.test(code) || WORDS.test(message))) return undefined;
  const keys = new Set(
    listOf(sent[list]).flatMap((item) => (without(item, NOTE) === undefined ? [] : keyOf(item))),
  );
  if (keys.size === 0) return undefined;
  return {
    param: list,
    repeats: true,
    isSingle: true,
    effect: "the server cannot read an image in it, so those of tools are left out, and the model is told so",
    apply: (body) => ({
      ...body,
      [list]: listOf(body[list]).map((item) => {
        const left = without(item, NOTE);
        return left !== undefined && keys.has(keyOf(item)) ? left : item;
      }),
    }),
  };
}
