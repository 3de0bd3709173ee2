import {
  type BlobStore,
  InvalidValueError,
  isRaviError,
  type Journal,
  type JournalEntry,
  JournalCorruptError,
  JournalFailedError,
  type JournalRecord,
  type MaybePromise,
  type RunId,
} from "@ravi/kernel";
import { andThen } from "../../promises/and-then.ts";
import { bodyOf, largeBody } from "./large-body.ts";
import { listedPart } from "../facts/listed-part.ts";

/** The field that a body has if it is stored as a blob. Beside it is only what `list` needs. No body of Ravi has a field of this name. */
const REF = "~blob";

/**
 * Stores the large bodies of a journal in a blob store, for processes on several machines. A blob is written before the entry that
 * names it. Deleting a run does not delete its blobs: they are named by their content and may be shared, so cleaning the store is
 * up to its owner.
 */
export function withBlobs(journal: Journal, blobs: BlobStore): Journal {
  const put = async (bytes: Uint8Array): Promise<string> => {
    try {
      return await blobs.put(bytes);
    } catch (cause) {
      throw new JournalFailedError({ what: "a blob could not be stored", final: true, cause });
    }
  };
  const kept = async (entries: readonly JournalEntry[]): Promise<JournalEntry[]> =>
    Promise.all(
      entries.map(async (entry) => {
        const blob = largeBody(entry.body);
        if (blob === undefined) return entry;
        return { ...entry, body: { ...listedPart(entry), [REF]: await put(blob.bytes) } };
      }),
    );
  const read = async (record: JournalRecord): Promise<JournalRecord> => {
    const ref = record.body[REF];
    if (typeof ref !== "string") return record;
    try {
      return { ...record, body: bodyOf(await blobs.get(ref)) };
    } catch (cause) {
      const problem = `its blob ${ref} is missing or damaged`;
      throw new JournalCorruptError({ runId: record.exec, position: record.seq, problem, cause });
    }
  };
  /** The newest append of each run that waits for its blobs. Later appends wait for it, and fail if it fails. */
  const late = new Map<RunId, Promise<void>>();
  return {
    claim: (runId, owner, ttlMs) => journal.claim(runId, owner, ttlMs),
    ...(journal.holder !== undefined && { holder: (runId) => journal.holder?.(runId) }),
    release: (runId, epoch) => journal.release(runId, epoch),
    ...(journal.abandon !== undefined && { abandon: (runId, epoch) => journal.abandon?.(runId, epoch) }),
    post: (runId, item) => journal.post(runId, item),
    items: (runId, after) => journal.items(runId, after),
    ...(journal.watch !== undefined && {
      watch: (runId, listener) => journal.watch?.(runId, listener) ?? { coversAll: false, stop: () => {} },
    }),
    list: () => journal.list(),
    ...(journal.summary !== undefined && { summary: (runId) => journal.summary?.(runId) }),
    delete: (runId) => journal.delete(runId),
    close: () => journal.close(),
    append(runId, epoch, entries): MaybePromise<void> {
      const before = late.get(runId);
      const isSmall = !entries.some(({ body }) => largeBody(body) !== undefined);
      // Most entries are small and need no waiting.
      if (isSmall && before === undefined) return journal.append(runId, epoch, entries);
      const written = inOrder(before, isSmall ? entries : kept(entries), (small) =>
        journal.append(runId, epoch, small),
      );
      late.set(runId, written);
      const forget = (): void => void (late.get(runId) === written && late.delete(runId));
      written.then(forget, forget);
      return written;
    },
    /** Includes everything that was appended before, even if nobody awaited it. */
    load(runId): MaybePromise<readonly JournalRecord[]> {
      const all = (records: readonly JournalRecord[]): MaybePromise<readonly JournalRecord[]> =>
        records.some(({ body }) => typeof body[REF] === "string") ? Promise.all(records.map(read)) : records;
      // If an append failed, its caller gets the error.
      const settled = late.get(runId)?.then(ignore, ignore);
      return andThen(settled, () => andThen(journal.load(runId), all));
    },
  };
}

/**
 * The records of a run. Throws if they were stored with a blob store and are read without one: an empty body would be taken for what was
 * recorded.
 */
export function wholeRecords(runId: RunId, records: readonly JournalRecord[]): readonly JournalRecord[] {
  const part = records.find(({ body }) => typeof body[REF] === "string");
  if (part === undefined) return records;
  const expected = `the blob store that run ${runId} was recorded with: the body of its entry ${part.seq} is there`;
  throw new InvalidValueError({ field: BLOBS, value: undefined, expected });
}

/** Whether it says that a run was read without the store of its bodies. */
export function isWithoutBlobs(error: unknown): boolean {
  return isRaviError(error, "INVALID_VALUE") && error.field === BLOBS;
}

const BLOBS = "runtime options.blobs";

async function inOrder(
  before: Promise<void> | undefined,
  entries: MaybePromise<readonly JournalEntry[]>,
  append: (entries: readonly JournalEntry[]) => MaybePromise<void>,
): Promise<void> {
  // Awaits both: otherwise, if the first one failed, the rejection of the other would be unhandled.
  const [small] = await Promise.all([entries, before]);
  await append(small);
}

function ignore(): void {}
