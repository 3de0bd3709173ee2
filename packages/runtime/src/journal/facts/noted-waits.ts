import type { JsonObject, JsonValue } from "@ravi/kernel";

/** What one note changes in the list of what a run waits for. */
export interface WaitsChange {
  /** Whether everything that was noted before counts no more. */
  readonly isWhole: boolean;
  /** The ids of the waits that are over. */
  readonly over: readonly string[];
  /** The waits that have begun, as ids and JSON. */
  readonly begun: readonly (readonly [id: string, wait: string])[];
  /** The `seq` of the last posted item that the run had read by then. */
  readonly heard: number;
}

/** The run waits for nothing. */
export const NO_WAITS: WaitsChange = Object.freeze({ isWhole: true, over: [], begun: [], heard: 0 });

/** What a run has noted to wait for, in the order in which it began. It may be answered by now: see `openWaits`. */
export class NotedWaits {
  heard = 0;
  private readonly waits = new Map<string, string>();

  apply({ isWhole, over, begun, heard }: WaitsChange): void {
    if (isWhole) this.waits.clear();
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
  if (!Array.isArray(waits) || typeof heard !== "number") return undefined;
  const begun = waits.map(
    (wait: JsonValue, at) => [idOf(wait, keys, at), JSON.stringify(wait ?? null)] as const,
  );
  const ended = Array.isArray(over) ? over.map(String) : [];
  return { isWhole: over === undefined, over: ended, begun, heard };
}

function idOf(wait: JsonValue, keys: JsonValue | undefined, at: number): string {
  const key: unknown = Array.isArray(keys) ? keys[at] : undefined;
  const { execId } = (wait ?? {}) as JsonObject;
  return typeof execId === "string" && typeof key === "string" ? waitId(execId, key) : String(at);
}
