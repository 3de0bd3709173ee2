import type { JsonObject } from "@ravi/kernel";
import { blobRef } from "./blobs.ts";
import { stringify } from "../parts/plain-json.ts";

/** A body with more bytes of JSON is stored as a blob, and its entry has the blob's name. */
const LARGE_BODY_BYTES = 256 * 1024;

export interface LargeBody {
  readonly ref: string;
  readonly bytes: Uint8Array;
}

/**
 * The blob that a body is to be stored as; undefined if it is small. With `bodyOf` this is all that a store needs: a journal writes
 * the blob in the transaction of the entry, an engine puts it into a `BlobStore` first.
 */
export function largeBody(body: JsonObject): LargeBody | undefined {
  const text = stringify(body);
  if (!mayExceed(text)) return undefined;
  const bytes = new TextEncoder().encode(text);
  return bytes.length > LARGE_BODY_BYTES ? { ref: blobRef(bytes), bytes } : undefined;
}

/** Whether the text may exceed the limit in UTF-8, which takes at most three bytes per UTF-16 unit. */
export function mayExceed(text: string): boolean {
  return text.length * 3 > LARGE_BODY_BYTES;
}

/** The body that a blob contains. */
export function bodyOf(bytes: Uint8Array): JsonObject {
  return JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
}
