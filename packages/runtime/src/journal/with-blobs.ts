import {
  type BlobStore,
  type Journal,
  type JournalEntry,
  JournalCorruptError,
  JournalFailedError,
  type JournalRecord,
  type MaybePromise,
  type RunId,
} from "@ravi/kernel";
import { andThen } from "../and-then.ts";
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
  /** The newest append of a run that waits for its blobs. What comes after it waits too, and fails with it. */
  const late = new Map<RunId, Promise<void>>();
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
      const before = late.get(runId);
      const isSmall = !entries.some(({ body }) => largeBody(body) !== undefined);
      // Most entries are small, and go the short way.
      if (isSmall && before === undefined) return journal.append(runId, epoch, entries);
      const written = inOrder(before, isSmall ? entries : kept(entries), (small) =>
        journal.append(runId, epoch, small),
      );
      late.set(runId, written);
      const forget = (): void => void (late.get(runId) === written && late.delete(runId));
      written.then(forget, forget);
      return written;
    },
    /** With what was appended before it, also where nobody waited for that. */
    load(runId): MaybePromise<readonly JournalRecord[]> {
      const all = (records: readonly JournalRecord[]): MaybePromise<readonly JournalRecord[]> =>
        records.some(({ body }) => typeof body[REF] === "string") ? Promise.all(records.map(read)) : records;
      // Whether it could be written is said to whoever appended it.
      const settled = late.get(runId)?.then(ignore, ignore);
      return andThen(settled, () => andThen(journal.load(runId), all));
    },
  };
}

async function inOrder(
  before: Promise<void> | undefined,
  entries: MaybePromise<readonly JournalEntry[]>,
  append: (entries: readonly JournalEntry[]) => MaybePromise<void>,
): Promise<void> {
  // Both: where the first fails, nobody else would hear the other fail.
  const [small] = await Promise.all([entries, before]);
  await append(small);
}

function ignore(): void {}
