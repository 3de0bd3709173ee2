import { type ChatMessage, checkInteger, type HistoryKey, InvalidValueError } from "@ravi/kernel";
import { hasMethod } from "@ravi/kernel/loop";

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

/** Each message as one line of JSON. Throws before anything is stored if one of them cannot be. */
export function messageTexts(messages: readonly ChatMessage[]): string[] {
  const list: unknown = messages;
  if (!Array.isArray(list))
    throw new InvalidValueError({ field: "messages", value: messages, expected: "an array of messages" });
  // Not `map`, which passes over holes: they would be counted and not written.
  return Array.from(messages, (message, at) => {
    const field = `messages[${at}]`;
    if (!isMessage(message)) {
      const expected =
        "a plain object with a role (system, user, assistant or tool) and a content (a string or an array of parts)";
      throw new InvalidValueError({ field, value: message, expected });
    }
    try {
      return JSON.stringify(message);
    } catch (cause) {
      throw new InvalidValueError({
        field,
        value: message,
        expected: "a message that can be written as JSON",
        cause,
      });
    }
  });
}

/** Whether JSON has it as a message: of the getters of a class, for example, it has nothing. */
export function isMessage(value: unknown): value is ChatMessage {
  if (typeof value !== "object" || value === null || hasMethod(value, "toJSON")) return false;
  const { role, content }: { readonly role?: unknown; readonly content?: unknown } = { ...value };
  return ROLES.has(role) && (typeof content === "string" || Array.isArray(content));
}

/** A unique text for each key. JSON keeps the parts apart, whatever they contain. */
export function keyText(key: HistoryKey): string {
  if (typeof key !== "object" || key === null)
    throw new InvalidValueError({ field: "key", value: key, expected: "an object { sessionId, agentName }" });
  const { sessionId, agentName, execId } = key;
  for (const [field, value] of Object.entries({ sessionId, agentName, execId: execId ?? "-" })) {
    if (typeof value === "string" && value !== "") continue;
    throw new InvalidValueError({ field: `key.${field}`, value, expected: "a non-empty string" });
  }
  return JSON.stringify([sessionId, agentName, execId ?? null]);
}

/** The text of the view of the key with that text. No key has it, since those have three parts. */
export function viewText(text: string): string {
  return `${text.slice(0, -1)},"view"]`;
}

/** The number of messages to load. Default: all, `head`. */
export function checkUpTo(upTo: number | undefined, head: number): number {
  return upTo === undefined ? head : checkInteger("upTo", upTo, 0);
}
