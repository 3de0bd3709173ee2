import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { messageOf } from "../errors/message-of.ts";
import { show } from "../errors/show.ts";
import type { PermissionDecision, PermissionRequest, Permissions } from "../ports/services.ts";

/** Why an action is not permitted. */
export interface Denial {
  /** With its version, if it has one. */
  readonly target: string;
  readonly reason: string;
  /** Both as a sentence. */
  readonly message: string;
}

/**
 * Asks the policy. Returns undefined if the action is permitted, and otherwise what `onDenied` returns. A policy that fails denies.
 */
export function denialBy<T>(
  permissions: Permissions,
  request: PermissionRequest,
  onDenied: (denial: Denial) => T,
): MaybePromise<T | undefined> {
  const deny = (reason: string): T => {
    const { target: name, version } = request;
    const target = version === undefined ? name : `${name}@${version}`;
    return onDenied({ target, reason, message: `${target} is not permitted: ${reason}` });
  };
  const broken = (error: unknown): T => deny(`the policy failed (${messageOf(error)})`);
  const read = (decision: PermissionDecision): T | undefined => {
    try {
      const answer: unknown = decision;
      if (typeof answer !== "object" || answer === null) {
        return broken(`it answered ${show(answer)}; expected { allow: true } or { allow: false, reason }`);
      }
      // Only `true` permits, whatever a policy in plain JavaScript may return.
      const allow: unknown = Reflect.get(answer, "allow");
      if (allow === true) return undefined;
      if (allow !== false) return broken(`it answered allow: ${show(allow)}; expected true or false`);
      const reason: unknown = Reflect.get(answer, "reason");
      return deny(typeof reason === "string" ? reason : "no reason was given");
    } catch (error) {
      return broken(error);
    }
  };
  let decision;
  try {
    decision = permissions.check(request);
  } catch (error) {
    return broken(error);
  }
  // Converted to a real promise: the `then` of a custom thenable may return undefined, which would mean that it is permitted.
  return isPromiseLike(decision) ? Promise.resolve(decision).then(read, broken) : read(decision);
}
