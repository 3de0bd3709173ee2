import { AgentId, InvalidValueError } from "@ravi/kernel";
import { codeAt } from "@ravi/kernel/loop";

/** Returns the value if it is a text that `AgentId` could have made; throws otherwise. */
export function checkAgentId(field: string, value: unknown): AgentId {
  if (typeof value !== "string") {
    throw new InvalidValueError({ field, value, expected: "an AgentId" });
  }
  if (!isOrdinary(value)) {
    const slash = value.indexOf("/");
    if (slash === -1) AgentId(value);
    else AgentId(value.slice(0, slash), value.slice(slash + 1));
  }
  // Return the original string: a rebuilt one would have to be hashed again.
  return value as AgentId;
}

const ORDINARY = 64;
const SLASH = 0x2f;

/**
 * A fast check that accepts the common case: short, printable ASCII, no slash at either end. All other texts go to the kernel's
 * own check.
 */
function isOrdinary(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > ORDINARY) return false;
  for (let at = 0; at < length; at++) {
    const code = codeAt(text, at);
    if (code < 0x20 || code > 0x7e) return false;
    if (code === SLASH && (at === 0 || at === length - 1)) return false;
  }
  return true;
}
