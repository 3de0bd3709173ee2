import { type BlobStore, InvalidValueError, type JsonObject } from "@ravi/kernel";

/** In characters. Larger bodies go to the blob store, as with every engine. */
const LARGE = 256 * 1024;
/**
 * The most bytes that are recorded without a blob store. An execution has many outcomes, and its journal is sent with all of them
 * to every attempt.
 */
const MOST = 8 * 1024 * 1024;

/** What is recorded of an outcome: the outcome itself, or its blob. */
export type Stored = { readonly here: JsonObject } | { readonly blob: string };

/** Stores an outcome. Throws an `InvalidValueError` if it is too large and there is no blob store. */
export async function store(body: JsonObject, blobs: BlobStore | undefined): Promise<Stored> {
  const text = JSON.stringify(body);
  if (text.length <= LARGE) return { here: body };
  const bytes = new TextEncoder().encode(text);
  if (blobs !== undefined) return { blob: await blobs.put(bytes) };
  if (bytes.length <= MOST) return { here: body };
  throw new InvalidValueError({
    field: "outcome",
    value: `${bytes.length} bytes`,
    expected: `at most ${MOST} bytes; for larger ones set the option blobs to a blob store that all workers share`,
  });
}

/** Reads a stored outcome. */
export async function fetchStored(stored: Stored, blobs: BlobStore | undefined): Promise<JsonObject> {
  if ("here" in stored) return stored.here;
  if (blobs === undefined) {
    throw new InvalidValueError({
      field: "blobs",
      value: undefined,
      expected: "the blob store that the outcome was written to; set the option blobs on every worker",
    });
  }
  return JSON.parse(new TextDecoder().decode(await blobs.get(stored.blob))) as JsonObject;
}
