import type { WindowOptions } from "../agent/run-context.ts";
import { type ChatMessage, textOf } from "../model/messages.ts";

/** What is said, in memory. A list that only grows, until another system prompt starts a new one. */
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
