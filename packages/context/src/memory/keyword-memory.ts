import {
  checkFields,
  checkInteger,
  type Clock,
  deepFreeze,
  type HistoryKey,
  type HistoryProvider,
  type IdSource,
  InvalidValueError,
  type JsonObject,
  type Memory,
  type MemoryItem,
  parseJson,
  type RunScope,
  SessionId,
  systemClock,
  systemIds,
  textOf,
} from "@ravi/kernel";
import { checkPorts, checkRecord } from "@ravi/kernel/loop";
import { MemoryHistory } from "../history/memory-history.ts";
import { Queues } from "../history/file/queues.ts";
import { Partition } from "./parts/partition.ts";

export interface KeywordMemoryOptions {
  /** Where memories are stored. Default: in this process. A `FileHistory` stores them on the disk. */
  readonly history?: HistoryProvider | undefined;
  /** The maximum number of memories for one user; beyond it, the oldest is forgotten. Default: 10,000. */
  readonly maxItems?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

const DEFAULT_LIMIT = 10;

/** How many users' memories are kept loaded. Others are read again when needed. */
const MAX_PARTITIONS = 1_000;

/** Whose memories they are. A program that fills a memory before any run has no whole scope. */
type Owner = Pick<RunScope, "tenantId" | "userId">;

/** So many forgotten items stay in the memory of the process at least, so that a small one is not written anew all the time. */
const SLACK = 64;

/** One stored record: something was remembered, or forgotten. */
type StoredRecord = { readonly remember: MemoryItem } | { readonly forget: string };

/**
 * Remembers texts and finds them by their words. Each user of each tenant has separate memories, and so does a run without a
 * user: nothing is shared. A text with a `metadata.key` that is already there is not stored again.
 */
export class KeywordMemory implements Memory {
  readonly isNoop = false;
  private readonly history: HistoryProvider;
  /** Whether the history is in this process and nobody else has it. */
  private readonly isOwnHistory: boolean;
  private readonly maxItems: number;
  private readonly clock: Clock;
  private readonly ids: IdSource;
  private readonly partitions = new Map<string, Promise<Partition>>();
  /** Operations of one user run one after the other, so that the stored and the loaded memories agree. */
  private readonly queues = new Queues();

  constructor(options: KeywordMemoryOptions = {}) {
    checkFields("KeywordMemory options", options, ["history", "maxItems", "clock", "ids"]);
    const { history, clock, ids } = options;
    checkPorts("KeywordMemory options", { history, clock, ids });
    this.isOwnHistory = history === undefined;
    this.history = history ?? new MemoryHistory();
    this.maxItems = checkInteger("KeywordMemory options.maxItems", options.maxItems ?? 10_000, 1);
    this.clock = clock ?? systemClock;
    this.ids = ids ?? systemIds;
  }

  /** Stores a text, and returns the stored item. If an item with the same `metadata.key` exists, returns that one instead. */
  async remember(scope: Owner, text: string, metadata?: JsonObject): Promise<MemoryItem> {
    if (typeof text !== "string" || text.trim() === "")
      throw new InvalidValueError({ field: "text", value: text, expected: "a non-empty string to remember" });
    if (metadata !== undefined) checkRecord("metadata", metadata, "an object, such as { key }");
    return this.enqueue(scope, async (partition, key) => {
      const known = partition.withSameKey(metadata);
      if (known !== undefined) return known;
      const given: MemoryItem = {
        id: this.ids.uuid(),
        text,
        at: this.clock.now(),
        ...(metadata && { metadata }),
      };
      const item = asStored(given);
      // Several, if it was filled with a larger maximum.
      const surplus = partition.oldest(partition.size + 1 - this.maxItems);
      await this.write(key, [...surplus.map((forget) => ({ forget })), { remember: item }]);
      for (const id of surplus) partition.remove(id);
      partition.add(item);
      await this.tidy(partition, key);
      return item;
    });
  }

  /** Finds the items that share words with the query, the best match first. `limit` is 10 by default. */
  async recall(scope: Owner, query: string, limit: number = DEFAULT_LIMIT): Promise<readonly MemoryItem[]> {
    checkInteger("limit", limit, 0);
    if (typeof query !== "string")
      throw new InvalidValueError({ field: "query", value: query, expected: "a string to search for" });
    return this.enqueue(scope, async (partition) => partition.find(query, limit));
  }

  /** Removes an item. Does nothing if the user has no item with this id. */
  async forget(scope: Owner, id: string): Promise<void> {
    if (typeof id !== "string")
      throw new InvalidValueError({ field: "id", value: id, expected: "the id of an item" });
    return this.enqueue(scope, async (partition, key) => {
      if (!partition.has(id)) return;
      await this.write(key, [{ forget: id }]);
      partition.remove(id);
      await this.tidy(partition, key);
    });
  }

  private async enqueue<R>(
    scope: Owner,
    task: (partition: Partition, key: HistoryKey) => Promise<R>,
  ): Promise<R> {
    checkScope(scope);
    const name = JSON.stringify([scope.tenantId, scope.userId]);
    const key: HistoryKey = { sessionId: SessionId(`memory:${name}`), agentName: "memory" };
    return this.queues.run(name, async () => task(await this.partition(name, key), key));
  }

  private partition(name: string, key: HistoryKey): Promise<Partition> {
    const known = this.partitions.get(name);
    const partition = known ?? this.read(key);
    // Set again, so that the map is ordered by last use.
    this.partitions.delete(name);
    this.partitions.set(name, partition);
    if (known !== undefined) return partition;
    // A failed read is not kept, so that the next call tries again.
    partition.catch(() => this.partitions.delete(name));
    for (const oldest of this.partitions.keys()) {
      if (this.partitions.size <= MAX_PARTITIONS) break;
      this.partitions.delete(oldest);
    }
    return partition;
  }

  private async read(key: HistoryKey): Promise<Partition> {
    const partition = new Partition();
    for (const message of (await this.history.load(key)).messages) {
      const record = parseRecord(textOf(message));
      if ("remember" in record) partition.add(deepFreeze(record.remember));
      else partition.remove(record.forget);
    }
    return partition;
  }

  private async write(key: HistoryKey, records: readonly StoredRecord[]): Promise<void> {
    await this.history.append(
      key,
      records.map((record) => ({ role: "user", content: JSON.stringify(record) })),
    );
  }

  /**
   * Writes a history of our own anew once most of it is about what was forgotten; otherwise it would grow without end. Not one on
   * a disk: a crash in the middle would lose it.
   */
  private async tidy(partition: Partition, key: HistoryKey): Promise<void> {
    if (!this.isOwnHistory || partition.removed <= partition.size + SLACK) return;
    await this.history.clear(key);
    await this.write(
      key,
      partition.list().map((item) => ({ remember: item })),
    );
    partition.removed = 0;
  }
}

/**
 * A copy as it would come back from the disk, so that later changes to the original have no effect. What is too long or too deep
 * to be read back is refused now: otherwise nothing of this user could be read any more.
 */
function asStored(given: MemoryItem): MemoryItem {
  const record = parseRecord(recordText(given));
  return "remember" in record ? deepFreeze(record.remember) : given;
}

function recordText(given: MemoryItem): string {
  try {
    return JSON.stringify({ remember: given } satisfies StoredRecord);
  } catch (cause) {
    throw new InvalidValueError({ field: "metadata", value: given.metadata, expected: "plain JSON", cause });
  }
}

function parseRecord(text: string): StoredRecord {
  return parseJson(text, "memory") as StoredRecord;
}

/** A value that is not a string would be stored as null, and a user's memories would be shared with all runs without a user. */
function checkScope(scope: Owner): void {
  if (typeof scope !== "object" || scope === null)
    throw new InvalidValueError({
      field: "scope",
      value: scope,
      expected: "an object with tenantId and userId, such as a RunScope",
    });
  for (const name of ["tenantId", "userId"] as const) {
    const value: unknown = scope[name];
    if (value === undefined || value === null || typeof value === "string") continue;
    throw new InvalidValueError({ field: `scope.${name}`, value, expected: "a string, or null for none" });
  }
}
