import type { JsonObject, RunId, RunStatus, RunSummary, SessionId, JsonValue } from "@ravi/kernel";
import type { Row } from "../entries/entry-check.ts";
import { changeIn, NO_WAITS, type WaitsChange } from "./noted-waits.ts";

/**
 * What `list` shows of a run, which a journal finds without understanding effects. The runtime records these notes, for the root
 * execution only (`exec` is the run's own id):
 *
 * - `run:start` with a body `{ agent: "name@version", tenantId, userId, supervision: { sessionId, … }, … }`: the agent, whose run it is, and
 *   when it started;
 * - `run:status` with a body `{ status, … }`, each time it changes;
 * - `run:waits` with a body `{ waits, keys, over, heard }`: what it has begun to wait for, with the keys of the steps, what of the notes
 *   before is over (as `execId:key`), and the `seq` of the last posted item that it has read. It counts until a status other than
 *   `suspended`.
 *
 * Entries are unique, so further ones are numbered: `run:status#2`, or the same key with a higher attempt. Until the first status
 * is recorded, a started run is `running`, and a claimed one without entries `pending`. Notes of children, and bodies of another
 * shape, say nothing about the run.
 */
export interface RunFacts {
  readonly agent?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly startedAt?: number | undefined;
  readonly whose?: Whose | undefined;
  /** In the order of the notes. */
  readonly waits?: readonly WaitsChange[] | undefined;
}

/** The conversation, the customer and the user of a run. */
export type Whose = Pick<RunSummary, "sessionId" | "tenantId" | "userId">;

const FORGET_WAITS = Object.freeze([NO_WAITS]);

export const RUN_START = "run:start";
export const RUN_STATUS = "run:status";
export const RUN_WAITS = "run:waits";

/** Every status that a run can have. */
export const STATUSES: { readonly [S in RunStatus]: S } = {
  pending: "pending",
  running: "running",
  suspended: "suspended",
  completed: "completed",
  partial: "partial",
  failed: "failed",
  cancelled: "cancelled",
};

/** What the entries say about the run; undefined if nothing. */
export function factsOf(runId: RunId, rows: readonly Row[]): RunFacts | undefined {
  let facts: RunFacts | undefined;
  for (const row of rows) {
    if (row[3] === "note" && row[0] === runId) facts = after(row, facts);
  }
  return facts;
}

/** The facts after this note; unchanged if it says nothing new. */
function after([, key, , , at, body]: Row, before: RunFacts | undefined): RunFacts | undefined {
  if (isKey(key, RUN_START)) {
    const { agent } = body;
    return {
      agent: typeof agent === "string" ? agent : before?.agent,
      status: "running",
      startedAt: at,
      whose: whoseIn(body) ?? before?.whose,
      waits: before?.waits,
    };
  }
  if (isKey(key, RUN_WAITS)) {
    const change = changeIn(body);
    return change === undefined ? before : { ...before, waits: [...(before?.waits ?? []), change] };
  }
  if (!isKey(key, RUN_STATUS)) return before;
  const { status } = body;
  if (!isStatus(status)) return before;
  const waits = status === "suspended" ? before?.waits : FORGET_WAITS;
  return { agent: before?.agent, status, startedAt: before?.startedAt, whose: before?.whose, waits };
}

/** Undefined if it does not say. */
function whoseIn(body: JsonObject): Whose | undefined {
  const { tenantId, userId, supervision } = body;
  const sessionId = isObject(supervision) ? supervision["sessionId"] : undefined;
  return whoseOf(sessionId, tenantId, userId);
}

/** Leaves out what is no text. */
export function whoseOf(sessionId: unknown, tenantId: unknown, userId: unknown): Whose | undefined {
  const session = typeof sessionId === "string" ? (sessionId as SessionId) : undefined;
  const tenant = typeof tenantId === "string" ? tenantId : undefined;
  const user = typeof userId === "string" ? userId : undefined;
  if (tenant === undefined && user === undefined)
    return session === undefined ? undefined : { sessionId: session };
  return {
    ...(session !== undefined && { sessionId: session }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(user !== undefined && { userId: user }),
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether it is the key of such a note, numbered or not. */
export function isKey(key: string, name: string): boolean {
  return key === name || key.startsWith(`${name}#`);
}

function isStatus(value: unknown): value is RunStatus {
  return typeof value === "string" && Object.hasOwn(STATUSES, value);
}
