import { field, hasField, stringOr, withoutField } from "@ravi/kernel/provider";
import type { RequestBody } from "../wire/protocol.ts";
import { fullMessage } from "./full-message.ts";

/** How to change a request that the server refused because of one parameter. */
export interface Remedy {
  /** The parameter's name at the server. A dot separates the levels of an object. */
  readonly param: string;
  /** The name under which it is sent instead, if it is renamed. */
  readonly to?: string | undefined;
  /** For the log: follows "the server does not accept `param`". */
  readonly effect: string;
  /** Matches error messages that mean this parameter without naming it. */
  readonly words?: RegExp | undefined;
  /** Whether it may be learned several times, each time for something else under the same name. Default: false. */
  readonly repeats?: boolean | undefined;
  /** Whether it is about one conversation or schema, so that it may be forgotten if there are too many. Default: false. */
  readonly isSingle?: boolean | undefined;
  apply(body: RequestBody): RequestBody;
}

/** What the server said when it refused a request. */
export interface Rejection {
  readonly status: number | undefined;
  readonly code: string;
  readonly param: string;
  readonly message: string;
}

/** Reads the refusal from an error of the official client. */
export function rejectionOf(error: Error): Rejection {
  const status = field(error, "status");
  return {
    status: typeof status === "number" ? status : undefined,
    code: stringOr(field(error, "code"), ""),
    param: stringOr(field(error, "param"), ""),
    message: fullMessage(error),
  };
}

/** Removes the parameter. */
export function leaveOut(param: string, words?: RegExp): Remedy {
  return { param, effect: "it is left out from now on", words, apply: (body) => withoutField(body, param) };
}

/** Sends the parameter under another name. */
export function rename(param: string, to: string): Remedy {
  return {
    param,
    to,
    effect: `it is sent as ${to} from now on`,
    apply: (body) => ({ ...withoutField(body, param), [to]: body[param] }),
  };
}

const UNSUPPORTED_CODE = /^(?:unsupported|unknown|unrecognized)_(?:parameter|value|argument)/i;
/** How servers say that they do not support something. */
export const UNSUPPORTED =
  /(?:un|not )supported|(?:does|do) not support|un(?:recognized|known|expected) (?:request )?(?:parameter|argument|field|key|name)|extra (?:inputs|fields|forbidden)|not permitted|not allowed|is unavailable|only \S{1,10} is allowed|must be verified/i;

/**
 * Chooses the remedy for a refused request. It fits if the server says that it does not support a parameter that was sent. A value
 * that is out of range is the caller's mistake and is not corrected.
 */
export function chooseRemedy(
  rejection: Rejection,
  sent: RequestBody,
  remedies: readonly Remedy[],
): Remedy | undefined {
  const { status, code, message } = rejection;
  if (status !== 400 && status !== 422) return undefined;
  if (!UNSUPPORTED_CODE.test(code) && !UNSUPPORTED.test(message)) return undefined;
  const candidates = remedies.filter(({ param }) => hasField(sent, param));
  const named = rejection.param;
  if (named !== "") {
    const last = named.split(".").at(-1);
    return (
      candidates.find(({ param }) => param === named || named.startsWith(`${param}.`)) ??
      candidates.find(({ param }) => param === last)
    );
  }
  // The first parameter in the message is the refused one; the one to use instead is named after it.
  return candidates
    .map((candidate) => ({ candidate, at: placeOf(candidate, message) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0]?.candidate;
}

function placeOf({ param, words }: Remedy, message: string): number {
  const named = message.search(new RegExp(`\\b${param.replaceAll(".", String.raw`\.`)}\\b`));
  return named === -1 && words !== undefined ? message.search(words) : named;
}

/** What a part of a body is known by. Not all of it: an image may have megabytes. */
export function keyOf(part: unknown): string {
  return JSON.stringify(part, (_, value: unknown) =>
    typeof value === "string" && value.length > 200
      ? `${value.length} ${value.slice(0, 60)} ${value.slice(-100)}`
      : value,
  );
}

/** Applies everything that was learned to a body. */
export function correct(body: RequestBody, remedies: readonly Remedy[]): RequestBody {
  return remedies.reduce(
    (known, remedy) => (hasField(known, remedy.param) ? remedy.apply(known) : known),
    body,
  );
}

/** A limit to the memory used, and to the work for each request. */
const MAX_LEARNED = 100;

/**
 * Remembers a remedy. If it would undo an earlier one, neither name works, and it is ignored. If there are too many, the oldest that is about
 * one thing only, such as the reasoning of one conversation, is forgotten: it would be learned again.
 */
export function learn(learned: Remedy[], found: Remedy): void {
  if (learned.length >= MAX_LEARNED) {
    const oldest = learned.findIndex(({ isSingle }) => isSingle === true);
    if (oldest === -1) return;
    learned.splice(oldest, 1);
  }
  if (found.repeats !== true && learned.some(({ param, to }) => param === found.param || to === found.param))
    return;
  learned.push(found);
}
