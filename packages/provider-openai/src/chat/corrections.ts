import { field, stringOr } from "../wire/json.ts";
import type { ChatBody } from "./request.ts";

/** A parameter that a server does not take, and what to do without it. */
export interface Correction {
  readonly from: string;
  /** The name under which it is sent instead; undefined: it is left out. */
  readonly to: string | undefined;
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
    message: error.message,
  };
}

/** Only what an answer can do without. The limit of the answer is never left out, because the budget was reserved by it. */
const CORRECTIONS: readonly Correction[] = [
  { from: "max_completion_tokens", to: "max_tokens" },
  { from: "max_tokens", to: "max_completion_tokens" },
  ...["temperature", "top_p", "seed", "reasoning_effort", "stream_options", "parallel_tool_calls"].map(
    (from) => ({ from, to: undefined }),
  ),
];

const UNSUPPORTED_CODE = /^(?:unsupported|unknown|unrecognized)_(?:parameter|value|argument)/i;
const UNSUPPORTED =
  /(?:un|not )supported|(?:does|do) not support|un(?:recognized|known|expected) (?:request )?(?:parameter|argument|field|key)|extra (?:inputs|fields|forbidden)|not permitted|not allowed/i;

/**
 * What to change in a request that a server refused, for a parameter that it names as one it does not take. A value that is
 * out of range is the caller's mistake and is not corrected.
 */
export function correctionOf(rejection: Rejection, sent: ChatBody): Correction | undefined {
  const { status, code, message } = rejection;
  if (status !== 400 && status !== 422) return undefined;
  if (!UNSUPPORTED_CODE.test(code) && !UNSUPPORTED.test(message)) return undefined;
  const candidates = CORRECTIONS.filter(({ from }) => from in sent);
  const named = rejection.param.split(".").at(-1);
  if (named !== undefined && named !== "") return candidates.find(({ from }) => from === named);
  // The first that the message names: the one to use instead comes after it.
  return candidates
    .map((candidate) => ({ candidate, at: message.search(new RegExp(`\\b${candidate.from}\\b`)) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0]?.candidate;
}

/** The body with all that was learned. */
export function correct(body: ChatBody, corrections: readonly Correction[]): ChatBody {
  if (corrections.length === 0) return body;
  const result: Record<string, unknown> = { ...body };
  for (const { from, to } of corrections) {
    if (!(from in result)) continue;
    if (to !== undefined) result[to] = result[from];
    Reflect.deleteProperty(result, from);
  }
  return result;
}

/** Adds what was learned, unless it would undo what was learned before: then neither name works. */
export function learn(corrections: Correction[], found: Correction): void {
  if (corrections.some(({ from, to }) => from === found.from || to === found.from)) return;
  corrections.push(found);
}
