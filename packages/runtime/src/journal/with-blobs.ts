import {
  type BlobStore,
  isPromiseLike,
  type Journal,
  type JournalEntry,
  JournalCorruptError,
  JournalFailedError,
  type JournalRecord,
  type MaybePromise,
} from "@ravi/kernel";
import { bodyOf, largeBody } from "./large-body.ts";

/** The one field of a body that lies in a blob store. No body of ours has a field of that name. */
const REF = "~blob";

/**
 * A journal whose large bodies are kept in a store beside it, as processes on several machines need it. A blob is there before
 * the entry that names it. What is deleted from the journal stays in the store: blobs are named by their content and may be
 * shared, so whoever keeps the store clears it.
 */
export function withBlobs(journal: Journal, blobs: BlobStore): Journal {
  const put = async (bytes: Uint8Array): Promise<string> => {
    try {
      return await blobs.put(bytes);
    } catch (cause) {
      throw new JournalFailedError({ what: "a blob could not be kept", final: true, cause });
    }
  };
  const kept = async (entries: readonly JournalEntry[]): Promise<JournalEntry[]> =>
    Promise.all(
      entries.map(async (entry) => {
        const blob = largeBody(entry.body);
        return blob === undefined ? entry : { ...entry, body: { [REF]: await put(blob.bytes) } };
      }),
    );
  const read = async (record: JournalRecord): Promise<JournalRecord> => {
    const ref = record.body[REF];
    if (typeof ref !== "string") return record;
    try {
      return { ...record, body: bodyOf(await blobs.get(ref)) };
    } catch (cause) {
      const problem = `its blob ${ref} is lost or damaged`;
      throw new JournalCorruptError({ runId: record.exec, position: record.seq, problem, cause });
    }
  };
  return {
    claim: (runId, owner, ttlMs) => journal.claim(runId, owner, ttlMs),
    release: (runId, epoch) => journal.release(runId, epoch),
    ...(journal.abandon !== undefined && { abandon: (runId, epoch) => journal.abandon?.(runId, epoch) }),
    post: (runId, item) => journal.post(runId, item),
    items: (runId, after) => journal.items(runId, after),
    ...(journal.watch !== undefined && {
      watch: (runId, listener) => journal.watch?.(runId, listener) ?? { coversAll: false, stop: () => {} },
    }),
    list: () => journal.list(),
    delete: (runId) => journal.delete(runId),
    close: () => journal.close(),
    append(runId, epoch, entries): MaybePromise<void> {
      // Most entries are small, and go the short way.
      if (!entries.some(({ body }) => largeBody(body) !== undefined))
        return journal.append(runId, epoch, entries);
      return kept(entries).then((small) => journal.append(runId, epoch, small));
    },
    load(runId): MaybePromise<readonly JournalRecord[]> {
      const all = (records: readonly JournalRecord[]): MaybePromise<readonly JournalRecord[]> =>
        records.some(({ body }) => typeof body[REF] === "string") ? Promise.all(records.map(read)) : records;
      const loaded = journal.load(runId);
      return isPromiseLike(loaded) ? Promise.resolve(loaded).then(all) : all(loaded);
    },
  };
}
