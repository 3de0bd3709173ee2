import { ErrorCode, isRaviError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { clean } from "./clean.ts";
import type { Settings } from "./options.ts";

/** A failure, as a span shows it. */
export interface Failure {
  /** For `error.type`: the kind of a provider's error, the code of Ravi's errors, the name of any other. */
  readonly type: string;
  /** Set if nothing is wrong: a rule, or somebody, has stopped the work. */
  readonly ending: string | undefined;
}

const MAX_CHARS = 2_000;

const ENDINGS: Readonly<Record<string, string>> = {
  [ErrorCode.CANCELLED]: "cancelled",
  [ErrorCode.SUSPENDED]: "suspended",
  [ErrorCode.PAUSED]: "paused",
  [ErrorCode.BUDGET_EXHAUSTED]: "denied",
  [ErrorCode.MIDDLEWARE_TERMINATION]: "denied",
};

export function failureOf(error: unknown): Failure {
  if (!isRaviError(error)) return { type: nameOf(error), ending: undefined };
  const { code } = error;
  const type = code === ErrorCode.PROVIDER_ERROR ? error.kind : code;
  return { type, ending: Object.hasOwn(ENDINGS, code) ? ENDINGS[code] : undefined };
}

/** What an error says, as it may be recorded. The redactor sees all of it. Undefined if it leaves it out. */
export function messageIn(error: unknown, redact: Settings["redact"]): string | undefined {
  const whole = messageOf(error);
  const allowed = redact === undefined ? whole : redact(whole);
  return allowed === undefined ? undefined : clean(allowed, MAX_CHARS);
}

/** The name of a class. Another text may be of any length, and each makes a series of its own in the metrics. */
const NAME = /^[\w.:$-]{1,100}$/;

/** The conventions' name of an unknown error is `_OTHER`. */
function nameOf(error: unknown): string {
  try {
    const name: unknown = Reflect.get(Object(error) as object, "name");
    return typeof name === "string" && NAME.test(name) ? clean(name, MAX_CHARS) : "_OTHER";
  } catch {
    return "_OTHER";
  }
}
