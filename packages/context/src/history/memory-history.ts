import {
  type ChatMessage,
  deepFreeze,
  type HistoryKey,
  type HistoryProvider,
  type JsonValue,
} from "@ravi/kernel";
import { checkUpTo, keyText, messageTexts } from "./file/message-text.ts";
import { lostMessages } from "./file/lost-messages.ts";

/** Keeps histories as long as the process lives, as frozen copies. Messages come back as they would from a file. */
export class MemoryHistory implements HistoryProvider {
  private readonly histories = new Map<string, ChatMessage[]>();
  private readonly views = new Map<string, string>();

  load(key: HistoryKey, upTo?: number): { readonly messages: readonly ChatMessage[]; readonly head: number } {
    const all = this.histories.get(keyText(key)) ?? [];
    const count = checkUpTo(upTo, all.length);
    if (count > all.length)
      throw lostMessages(key, { wanted: count, found: all.length, position: all.length });
    return { messages: all.slice(0, count), head: all.length };
  }

  append(key: HistoryKey, messages: readonly ChatMessage[]): void {
    const name = keyText(key);
    const copies = messageTexts(messages).map((text) => deepFreeze(JSON.parse(text) as ChatMessage));
    if (copies.length === 0) return;
    const all = this.histories.get(name);
    if (all === undefined) this.histories.set(name, copies);
    else for (const copy of copies) all.push(copy);
  }

  clear(key: HistoryKey): void {
    this.histories.delete(keyText(key));
    this.views.delete(keyText(key));
  }

  storeView(key: HistoryKey, view: JsonValue): void {
    this.views.set(keyText(key), JSON.stringify(view));
  }

  loadView(key: HistoryKey): JsonValue | undefined {
    const text = this.views.get(keyText(key));
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  }
}
