import type { JsonObject, JsonValue } from "@ravi/kernel";

/** What one note changes in the list of what a run waits for. */
export interface WaitsChange {
  /** The ids of the waits that are over. */
  readonly over: readonly string[];
  /** The waits that have begun, as ids and JSON. */
  readonly begun: readonly (readonly [id: string, wait: string])[];
  /** The `seq` of the last posted item that the run had read by then. */
  readonly heard: number;
}

/** Everything that was noted before counts no more. */
export const NO_WAITS: WaitsChange = Object.freeze({ over: [], begun: [], heard: 0 });

/** What a run has noted to wait for, in the order in which it began. It may be answered by now: see `openWaits`. */
export class NotedWaits {
  heard = 0;
  private readonly waits = new Map<string, string>();

  apply(change: WaitsChange): void {
    const { over, begun, heard } = change;
    if (change === NO_WAITS) this.waits.clear();
    for (const id of over) this.waits.delete(id);
    for (const [id, wait] of begun) this.waits.set(id, wait);
    this.heard = heard;
  }

  /** As a JSON list. */
  get text(): string {
    return `[${[...this.waits.values()].join(",")}]`;
  }

  /** Each with its id. */
  entries(): Iterable<readonly [id: string, wait: string]> {
    return this.waits;
  }

  /** Removes it from the list. */
  take(id: string): string | undefined {
    const wait = this.waits.get(id);
    this.waits.delete(id);
    return wait;
  }
}

/** How notes name a wait: by its execution and the key of its step. */
export function waitId(execId: string, key: string): string {
  return `${execId}:${key}`;
}

/** What the body of a `run:waits` says; undefined if it has another shape. */
export function changeIn({ waits, keys, over, heard }: JsonObject): WaitsChange | undefined {
  if (!isList(waits) || !isList(keys) || !isList(over) || typeof heard !== "number") return undefined;
  const begun: (readonly [id: string, wait: string])[] = [];
  for (const [at, wait] of waits.entries()) {
    const { execId } = (wait ?? {}) as JsonObject;
    const key = keys[at];
    if (typeof execId !== "string" || typeof key !== "string") return undefined;
    begun.push([waitId(execId, key), JSON.stringify(wait)]);
  }
  return { over: over.map(String), begun, heard };
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
