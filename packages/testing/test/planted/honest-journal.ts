import {
  checkInteger,
  InvalidValueError,
  type Journal,
  type JournalEntry,
  JournalLockedError,
  type JournalRecord,
  type JournalWatch,
  type JsonObject,
  type PendingWait,
  type PostedItem,
  type PostedRecord,
  RunId,
  type RunSummary,
} from "@ravi/kernel";
import type { JournalSetup } from "../../src/suites/index.ts";

interface Run {
  owner: string | null;
  epoch: number;
  expires: number;
  /** Each a text: what is read is never what is kept. */
  readonly records: string[];
  readonly names: Set<string>;
  summary: Omit<RunSummary, "runId" | "entries">;
}

/** The body of a note on waits. */
export interface WaitsBody {
  readonly waits: readonly (JsonObject & PendingWait)[];
  readonly keys: readonly string[];
  readonly over: readonly string[];
  readonly heard: number;
}

/** What all handles on one store share. */
export class HonestStore {
  readonly runs = new Map<RunId, Run>();
  readonly items = new Map<RunId, Map<string, string>>();
  readonly listeners = new Map<RunId, Set<() => void>>();
  floor = 0;
}

const STATUSES = ["pending", "running", "suspended", "completed", "partial", "failed", "cancelled"] as const;
// oxlint-disable-next-line no-control-regex -- those that must not be there
const NAME = /^[^\u0000-\u001f\u007f]+$/;

/** A journal that does what the contract says and nothing more. Broken ones are this one with one thing wrong. */
export class HonestJournal implements Journal {
  readonly store: HonestStore;
  private readonly clock: JournalSetup["clock"];

  constructor({ clock }: JournalSetup, store = new HonestStore()) {
    this.clock = clock;
    this.store = store;
  }

  claim(runId: RunId, owner: string, ttlMs: number): { readonly epoch: number } | null {
    if (owner === "") refuse("owner", owner);
    checkInteger("ttlMs", ttlMs, 1);
    const now = this.clock.now();
    const { runs, floor } = this.store;
    const run = runs.get(runId);
    const isHeld = run !== undefined && run.owner !== null && run.expires > now;
    if (isHeld && run.owner !== owner) return null;
    const epoch = run === undefined ? floor + 1 : run.owner === owner ? run.epoch : run.epoch + 1;
    const claim = { owner, epoch, expires: now + ttlMs };
    if (run !== undefined) Object.assign(run, claim);
    else {
      const summary = { agent: "", status: "pending", startedAt: now, updatedAt: now } as const;
      runs.set(RunId(runId), { ...claim, records: [], names: new Set(), summary });
    }
    return { epoch };
  }

  release(runId: RunId, epoch: number): void {
    const run = this.store.runs.get(runId);
    if (run?.epoch === epoch) run.owner = null;
  }

  load(runId: RunId): readonly JournalRecord[] {
    return (this.store.runs.get(runId)?.records ?? []).map((text) => JSON.parse(text) as JournalRecord);
  }

  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): void {
    const run = this.store.runs.get(runId);
    if (run === undefined || run.owner === null || run.epoch !== epoch)
      throw new JournalLockedError({ runId });
    const texts = entries.map((entry, n) => recordOf(entry, run.records.length + n + 1));
    const names = new Set(entries.map(nameOf));
    if (names.size < entries.length || !names.isDisjointFrom(run.names)) refuse("entries", "doubled");
    run.records.push(...texts);
    for (const name of names) run.names.add(name);
    for (const entry of entries) run.summary = learn(run.summary, runId, entry);
  }

  post(runId: RunId, item: PostedItem): void {
    const { id, kind, name, value, at } = item;
    if (id === "" || !["signal", "message", "decision", "cancel"].includes(kind)) refuse("item", item.id);
    if (typeof name !== "string" || !Number.isFinite(at) || value === undefined) refuse("item", name);
    const items = this.store.items.get(runId) ?? new Map<string, string>();
    this.store.items.set(RunId(runId), items);
    if (!items.has(id)) items.set(id, textOf({ seq: items.size + 1, id, kind, name, value, at }));
    for (const listener of this.store.listeners.get(runId) ?? []) listener();
  }

  items(runId: RunId, after: number): readonly PostedRecord[] {
    checkInteger("after", after, 0);
    const texts = [...(this.store.items.get(runId)?.values() ?? [])];
    return texts.slice(after).map((text) => JSON.parse(text) as PostedRecord);
  }

  watch(runId: RunId, listener: () => void): JournalWatch {
    const { listeners } = this.store;
    const all = listeners.get(runId) ?? new Set();
    listeners.set(runId, all.add(listener));
    return { coversAll: true, stop: () => void all.delete(listener) };
  }

  list(): readonly RunSummary[] {
    return [...this.store.runs].map(([runId, { summary, records }]) => {
      const listed = { runId, ...summary, ...this.reasons(runId, summary.status), entries: records.length };
      const waitingFor =
        summary.status.endsWith("ed") && summary.status !== "suspended" ? [] : this.waits(runId);
      return waitingFor.length === 0 ? listed : { ...listed, waitingFor };
    });
  }

  /** Which error its last entry has, and why it was cancelled, if it has not ended. */
  protected reasons(runId: RunId, status: RunSummary["status"]): Pick<RunSummary, "error" | "cancelReason"> {
    const { key = "", body = {} } = this.load(runId).at(-1) ?? {};
    const { code, message } = (/^run:status(?:#|$)/.test(key) && (body["error"] as JsonObject)) || {};
    const error = { code, message };
    const cancel = this.items(runId, 0).find(({ kind }) => kind === "cancel");
    const isOpen = ["pending", "running", "suspended"].includes(status);
    return {
      ...(typeof message === "string" && { error: error as RunSummary["error"] }),
      ...(isOpen && cancel && { cancelReason: reasonOf(cancel) }),
    };
  }

  /** What the run waits for, without what was answered. */
  protected waits(runId: RunId): readonly PendingWait[] {
    let noted = new Map<string, PendingWait>();
    let heard = 0;
    for (const { exec, key, phase, body } of this.load(runId)) {
      if (phase !== "note" || exec !== String(runId)) continue;
      if (/^run:waits(?:#|$)/.test(key) && this.isWaits(body)) {
        for (const id of body.over) noted.delete(id);
        for (const [at, wait] of body.waits.entries()) noted.set(`${wait.execId}:${body.keys[at]}`, wait);
        heard = body.heard;
      } else if (/^run:status(?:#|$)/.test(key) && body["status"] !== "suspended") noted = new Map();
    }
    let waits = [...noted.values()];
    for (const { kind, name } of this.items(runId, heard)) {
      if (kind === "cancel") return [];
      const at = waits.findIndex((wait) => wait.name === name && wait.kind !== "timer");
      if (kind === "signal" && at !== -1) waits = waits.toSpliced(at, 1);
    }
    return waits;
  }

  protected isWaits(body: JsonObject): body is JsonObject & WaitsBody {
    const { waits, keys, over, heard } = body;
    const isList = Array.isArray(waits) && waits.every((wait) => typeof wait === "object" && wait !== null);
    return isList && Array.isArray(keys) && Array.isArray(over) && typeof heard === "number";
  }

  delete(runId: RunId): void {
    const { store } = this;
    store.floor = Math.max(store.floor, store.runs.get(runId)?.epoch ?? 0);
    store.runs.delete(runId);
    store.items.delete(runId);
  }

  close(): void {}
}

function reasonOf({ value }: PostedRecord): string {
  return typeof value === "string" ? value : "cancelled from outside";
}

function recordOf(entry: JournalEntry, seq: number): string {
  const { exec, key, attempt, phase, at, body } = entry;
  const isNamed = NAME.test(exec) && NAME.test(key) && ["begin", "end", "note"].includes(phase);
  const isCounted = Number.isSafeInteger(attempt) && Number.isFinite(at);
  const isBody = typeof body === "object" && body !== null && !Array.isArray(body);
  if (!isNamed || !isCounted || !isBody) refuse("entry", key);
  return textOf({ seq, exec, key, attempt, phase, at, body });
}

function nameOf({ exec, key, attempt, phase }: JournalEntry): string {
  return JSON.stringify([exec, key, attempt, phase]);
}

function learn(summary: Run["summary"], runId: RunId, entry: JournalEntry): Run["summary"] {
  const { exec, key, phase, at: updatedAt, body } = entry;
  const known = { ...summary, updatedAt };
  if (phase !== "note" || exec !== String(runId)) return known;
  if (key === "run:start")
    return {
      ...known,
      agent: String(body["agent"]),
      status: "running",
      startedAt: updatedAt,
      ...whoseIn(body),
    };
  const status = STATUSES.find((one) => one === body["status"]);
  return status === undefined || !/^run:status(?:#|$)/.test(key) ? known : { ...known, status };
}

function whoseIn({
  supervision,
  ...named
}: JsonObject): Pick<RunSummary, "sessionId" | "tenantId" | "userId"> {
  const all = { sessionId: (supervision as JsonObject | undefined)?.["sessionId"], ...named };
  const told = ["sessionId", "tenantId", "userId"].map((name) => [name, all[name as keyof typeof all]]);
  return Object.fromEntries(told.filter(([, value]) => typeof value === "string"));
}

function textOf(value: object): string {
  try {
    return JSON.stringify(value, (_, part: unknown) => part);
  } catch (cause) {
    throw new InvalidValueError({ field: "value", value: String(cause), expected: "plain JSON", cause });
  }
}

function refuse(field: string, value: unknown): never {
  throw new InvalidValueError({ field, value, expected: "something else" });
}
