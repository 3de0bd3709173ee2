import { InvalidValueError, JournalCorruptError } from "@ravi/kernel";
import { hashOf } from "../parts/platform.ts";

const PREFIX = "sha256-";

/** The name of a blob is the hash of its content. So the same bytes are stored once, and a read can be verified. */
export function blobRef(bytes: Uint8Array): string {
  return PREFIX + hashOf(bytes);
}

/** Throws an `InvalidValueError` if it is no `Uint8Array`. */
export function checkBytes(bytes: Uint8Array): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  throw new InvalidValueError({ field: "bytes", value: bytes, expected: "a Uint8Array" });
}

/**
 * The bytes of a blob. Throws an `InvalidValueError` if there are none, and a `JournalCorruptError` if they do not match the name.
 */
export function verifiedBlob(ref: string, bytes: Uint8Array | undefined): Uint8Array {
  if (bytes === undefined) {
    throw new InvalidValueError({
      field: "ref",
      value: ref,
      expected: "the name of a blob in this store",
    });
  }
  if (blobRef(bytes) === ref) return bytes;
  throw new JournalCorruptError({
    runId: ref,
    what: `the blob ${ref}`,
    position: 0,
    problem: "the content of the blob does not match the hash in its name",
  });
}
