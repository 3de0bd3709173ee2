import { ErrorCode, isRaviError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { clean } from "./clean.ts";

/** A failure, as a span shows it. */
export interface Failure {
  /** For `error.type`: the kind of a provider's error, the code of Ravi's errors, the name of any other. */
  readonly type: string;
  readonly message: string;
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
  const message = clean(messageOf(error), MAX_CHARS);
  if (!isRaviError(error)) return { type: nameOf(error), message, ending: undefined };
  const { code } = error;
  const type = code === ErrorCode.PROVIDER_ERROR ? error.kind : code;
  return { type, message, ending: Object.hasOwn(ENDINGS, code) ? ENDINGS[code] : undefined };
}

/** The conventions' name of an unknown error is `_OTHER`. */
function nameOf(error: unknown): string {
  try {
    const name: unknown = Reflect.get(Object(error) as object, "name");
    return typeof name === "string" && name !== "" ? clean(name, MAX_CHARS) : "_OTHER";
  } catch {
    return "_OTHER";
  }
}
