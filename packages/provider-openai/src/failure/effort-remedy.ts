import type { RequestBody } from "../wire/protocol.ts";
import { type Rejection, type Remedy, UNSUPPORTED } from "./corrections.ts";

/** Where a protocol has the effort in the body. */
export interface EffortPlace {
  readonly param: string;
  readonly read: (body: RequestBody) => unknown;
  /** The body with another effort; without one if it is undefined. */
  readonly write: (body: RequestBody, effort: string | undefined) => RequestBody;
}

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
  if ((status !== 400 && status !== 422) || typeof effort !== "string" || !UNSUPPORTED.test(message))
    return undefined;
  const isAboutEffort = named === "" ? message.includes(param) : named === param;
  if (!isAboutEffort || !quotes(message, effort)) return undefined;
  const instead = effort === "minimal" && quotes(message, "low") ? "low" : undefined;
  return {
    param,
    repeats: true,
    effect: `the effort "${effort}" is ${instead === undefined ? "left out" : `sent as "${instead}"`} from now on`,
    apply: (body) => (read(body) === effort ? write(body, instead) : body),
  };
}

function quotes(message: string, value: string): boolean {
  return message.includes(`'${value}'`) || message.includes(`"${value}"`);
}
