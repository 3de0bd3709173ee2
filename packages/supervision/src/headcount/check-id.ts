import { AgentId, InvalidValueError } from "@ravi/kernel";

/** Any text that `AgentId` could have made. */
export function checkAgentId(field: string, value: unknown): AgentId {
  if (typeof value !== "string") {
    throw new InvalidValueError({ field, value, expected: "an AgentId" });
  }
  if (!isOrdinary(value)) {
    const slash = value.indexOf("/");
    if (slash === -1) AgentId(value);
    else AgentId(value.slice(0, slash), value.slice(slash + 1));
  }
  // The text as it came: a new one, put together again, would have to be hashed anew.
  return value as AgentId;
}

const ORDINARY = 64;
const SLASH = 0x2f;

/** Surely an id: short, plain ASCII, and with something before and after its slash. The kernel judges all others. */
function isOrdinary(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > ORDINARY) return false;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
    if (code === SLASH && (at === 0 || at === length - 1)) return false;
  }
  return true;
}
