import { field } from "@ravi/kernel/provider";
import type { McpClient } from "../model.ts";

/** A point in the life of a connection: two are the same if the list of tools has not changed between them. */
export interface ListState {
  readonly transport: object | undefined;
  readonly changes: number;
}

/**
 * Counts how often the server says that its list of tools has changed. At the transport, because a client has one handler for that, which
 * may be its owner's.
 */
export class ListWatch {
  private transport: object | undefined;
  private changes = 0;

  state({ transport }: McpClient): ListState {
    if (transport !== this.transport) this.watch(transport);
    return { transport, changes: this.changes };
  }

  private watch(transport: object | undefined): void {
    this.transport = transport;
    if (transport === undefined) return;
    const before: unknown = Reflect.get(transport, "onmessage");
    const onmessage = (...args: readonly unknown[]): unknown => {
      if (field(args[0], "method") === "notifications/tools/list_changed") this.changes++;
      return typeof before === "function" ? Reflect.apply(before, transport, args) : undefined;
    };
    Reflect.set(transport, "onmessage", onmessage);
  }
}

export function isSameState(a: ListState | undefined, b: ListState): boolean {
  return a !== undefined && a.transport === b.transport && a.changes === b.changes;
}
