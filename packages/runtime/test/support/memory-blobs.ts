import type { BlobStore } from "@ravi/kernel";
import { blobRef, checkBytes, verifiedBlob } from "../../src/journal/entries/blobs.ts";

/** Blobs in memory. It stores and returns copies, so a caller may change its own bytes. */
export class MemoryBlobs implements BlobStore {
  private readonly kept = new Map<string, Uint8Array>();

  put(bytes: Uint8Array): string {
    const ref = blobRef(checkBytes(bytes));
    if (!this.kept.has(ref)) this.kept.set(ref, bytes.slice());
    return ref;
  }

  get(ref: string): Uint8Array {
    return verifiedBlob(ref, this.kept.get(ref)).slice();
  }
}
