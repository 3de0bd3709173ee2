import type { WindowOptions } from "../agent/run-context.ts";
import { type ChatMessage, textOf } from "../model/messages.ts";

/** A conversation in memory. The list is only appended to, until the system prompt changes; then a new list begins. */
export class Conversation {
  private list: ChatMessage[];
  private system: string | undefined;

  constructor(past: readonly ChatMessage[] = []) {
    this.list = [...past];
    const [first] = past;
    this.system = first?.role === "system" ? textOf(first) : undefined;
  }

  get messages(): readonly ChatMessage[] {
    return this.list;
  }

  window({ system }: WindowOptions = {}): readonly ChatMessage[] {
    if (system === undefined || system === this.system) return this.list;
    const said = this.system === undefined ? this.list : this.list.slice(1);
    this.system = system;
    this.list = [{ role: "system", content: system }, ...said];
    return this.list;
  }

  remember(message: ChatMessage): void {
    this.list.push(Object.freeze(message));
  }
}
