import type { RequestBody } from "../wire/protocol.ts";
import { type Rejection, type Remedy, UNSUPPORTED } from "./corrections.ts";

/** Where a protocol has the effort in the body. */
export interface EffortPlace {
  readonly param: string;
  readonly read: (body: RequestBody) => unknown;
  /** The body with another effort; without one if it is undefined. */
  readonly write: (body: RequestBody, effort: string | undefined) => RequestBody;
}

/** What follows the name of a parameter if it is a list of the values that there are. */
const LISTED =
  /^\W{0,6}(?:msg\W{0,6})?(?:(?:must|to|should) be one of|input should be|\w{1,20}\.\s{1,4}valid values are)([^;[]{1,200}?)(?:$|;|\[|, 'input')/i;

/**
 * What to do if the server refuses one effort, since each model has its own. Only that one is affected, or a single cheap call would take the
 * effort from all later ones. `minimal`, which newer models do not have, becomes `low` if the server names that: what is left out may mean
 * far more.
 */
export function effortRemedy(
  { status, param: named, message }: Rejection,
  sent: RequestBody,
  { param, read, write }: EffortPlace,
): Remedy | undefined {
  const effort = read(sent);
  // One of the caller's own may be any text.
  if ((status !== 400 && status !== 422) || typeof effort !== "string" || !/^\w+$/.test(effort))
    return undefined;
  if (!isRefused(message, effort, named, param)) return undefined;
  const instead = effort === "minimal" && names(message, "low") ? "low" : undefined;
  return {
    param,
    repeats: true,
    effect: `the effort "${effort}" is ${instead === undefined ? "left out" : `sent as "${instead}"`} from now on`,
    apply: (body) => (read(body) === effort ? write(body, instead) : body),
  };
}

/** By its name, or by a list of those that there are, which does not have it. */
function isRefused(message: string, effort: string, named: string, param: string): boolean {
  if (new RegExp(String.raw`\bthinking level ${effort} is not supported\b`, "i").test(message)) return true;
  if (named === "" || named === "validation_error" ? !message.includes(param) : named !== param) return false;
  if (UNSUPPORTED.test(message) && quotes(message, effort)) return true;
  const [, list] = LISTED.exec(message.slice(message.indexOf(param) + param.length)) ?? [];
  return list !== undefined && !names(list, effort);
}

function names(text: string, value: string): boolean {
  return new RegExp(String.raw`\b${value}\b`).test(text);
}

function quotes(message: string, value: string): boolean {
  return message.includes(`'${value}'`) || message.includes(`"${value}"`);
}
