import { field, isObject, stringOr } from "@ravi/kernel/provider";
import type { RequestBody } from "../protocol.ts";
import { wordsOf } from "./words.ts";

/** What to do about something that a server does not take. */
export interface Remedy {
  /** As the server names it; dots lead into an object. */
  readonly param: string;
  /** The name under which it is sent instead; undefined where there is none. */
  readonly to?: string | undefined;
  /** Said to whoever listens, after "the server does not take `param`". */
  readonly effect: string;
  /** Words by which servers mean this without its name. */
  readonly words?: RegExp | undefined;
  /** It may be learned more than once, each time of something else under the same name. */
  readonly repeats?: boolean | undefined;
  apply(body: RequestBody): RequestBody;
}

export interface Rejection {
  readonly status: number | undefined;
  readonly code: string;
  readonly param: string;
  readonly message: string;
}

/** What a server said when it refused. */
export function rejectionOf(error: Error): Rejection {
  const status = field(error, "status");
  return {
    status: typeof status === "number" ? status : undefined,
    code: stringOr(field(error, "code"), ""),
    param: stringOr(field(error, "param"), ""),
    message: wordsOf(error),
  };
}

export function leaveOut(param: string, words?: RegExp): Remedy {
  return { param, effect: "it is left out from now on", words, apply: (body) => without(body, param) };
}

export function rename(param: string, to: string): Remedy {
  return {
    param,
    to,
    effect: `it is sent as ${to} from now on`,
    apply: (body) => ({ ...without(body, param), [to]: body[param] }),
  };
}

const UNSUPPORTED_CODE = /^(?:unsupported|unknown|unrecognized)_(?:parameter|value|argument)/i;
/** How servers say that they do not take something. */
export const UNSUPPORTED =
  /(?:un|not )supported|(?:does|do) not support|un(?:recognized|known|expected) (?:request )?(?:parameter|argument|field|key)|extra (?:inputs|fields|forbidden)|not permitted|not allowed|is unavailable|only \S{1,10} is allowed|must be verified/i;

/**
 * Which of the remedies fits a refusal, for a parameter that the server names as one it does not take. A value that is out of
 * range is the caller's mistake and is not corrected.
 */
export function chooseRemedy(
  rejection: Rejection,
  sent: RequestBody,
  remedies: readonly Remedy[],
): Remedy | undefined {
  const { status, code, message } = rejection;
  if (status !== 400 && status !== 422) return undefined;
  if (!UNSUPPORTED_CODE.test(code) && !UNSUPPORTED.test(message)) return undefined;
  const candidates = remedies.filter(({ param }) => isSent(sent, param));
  const named = rejection.param;
  if (named !== "") {
    const last = named.split(".").at(-1);
    return (
      candidates.find(({ param }) => param === named || named.startsWith(`${param}.`)) ??
      candidates.find(({ param }) => param === last)
    );
  }
  // The first that the message names: the one to use instead comes after it.
  return candidates
    .map((candidate) => ({ candidate, at: placeOf(candidate, message) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0]?.candidate;
}

function placeOf({ param, words }: Remedy, message: string): number {
  const named = message.search(new RegExp(`\\b${param.replaceAll(".", String.raw`\.`)}\\b`));
  return named === -1 && words !== undefined ? message.search(words) : named;
}

/** The body with all that was learned. */
export function correct(body: RequestBody, remedies: readonly Remedy[]): RequestBody {
  return remedies.reduce(
    (known, remedy) => (isSent(known, remedy.param) ? remedy.apply(known) : known),
    body,
  );
}

/** Far more than a server can have to refuse. */
const MAX_LEARNED = 100;

/** Adds what was learned, unless it would undo what was learned before: then neither name works. */
export function learn(learned: Remedy[], found: Remedy): void {
  if (learned.length >= MAX_LEARNED) return;
  if (found.repeats !== true && learned.some(({ param, to }) => param === found.param || to === found.param))
    return;
  learned.push(found);
}

function isSent(body: unknown, param: string): boolean {
  const [first = "", ...rest] = param.split(".");
  if (field(body, first) === undefined) return false;
  return rest.length === 0 || isSent(field(body, first), rest.join("."));
}

/** A copy without the parameter, and without what held nothing else. */
export function without(body: RequestBody, param: string): RequestBody {
  const [first = "", ...rest] = param.split(".");
  const result: Record<string, unknown> = { ...body };
  const inner = result[first];
  if (rest.length > 0 && isObject(inner)) {
    const left = without({ ...inner }, rest.join("."));
    if (Object.keys(left).length > 0) return { ...result, [first]: left };
  }
  Reflect.deleteProperty(result, first);
  return result;
}
