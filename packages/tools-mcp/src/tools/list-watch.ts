import { field, isObject, listOf } from "@ravi/kernel/provider";
import type { McpClient } from "../model.ts";

/** A point in the life of a connection: two are the same if the list of tools has not changed between them. */
export interface ListState {
  readonly transport: object | undefined;
  readonly changes: number;
}

/** What is wrong with the definition of a tool; undefined if the client takes it. */
export type Fault = (tool: unknown) => string | undefined;

/**
 * Counts how often the server says that its list of tools has changed, and takes out of a list the tools that the client would refuse the
 * whole list for. At the transport, because a client has one handler for changes, which may be its owner's, and none for a list.
 */
export class ListWatch {
  /** What is wrong with the tools that were taken out, by their names. */
  readonly malformed = new Map<string, string>();
  private readonly faultOf: Fault;
  private transport: object | undefined;
  private changes = 0;

  constructor(faultOf: Fault) {
    this.faultOf = faultOf;
  }

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
      this.sift(field(args[0], "result"));
      return typeof before === "function" ? Reflect.apply(before, transport, args) : undefined;
    };
    Reflect.set(transport, "onmessage", onmessage);
  }

  /** One without a name stays: nobody could be told which one it is. What a tool returned has `content`. */
  private sift(result: unknown): void {
    const tools = field(result, "tools");
    if (!isObject(result) || !Array.isArray(tools) || "content" in result) return;
    const isSound = (tool: unknown): boolean => {
      const name = field(tool, "name");
      const fault = typeof name === "string" ? this.faultOf(tool) : undefined;
      if (typeof name === "string" && fault !== undefined) this.malformed.set(name, fault);
      return fault === undefined;
    };
    Reflect.set(result, "tools", listOf(tools).filter(isSound));
  }
}

export function isSameState(a: ListState | undefined, b: ListState): boolean {
  return a !== undefined && a.transport === b.transport && a.changes === b.changes;
}
