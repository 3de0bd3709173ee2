import {
  type AgentRunContext,
  type MaybePromise,
  checkBoolean,
  checkFields,
  checkInteger,
  isPromiseLike,
} from "@ravi/kernel";
import { checkFunction } from "@ravi/kernel/loop";
import { checkOnError, enforce, type OnGuardError } from "../guard.ts";
import type { AgentMiddleware } from "../types.ts";

export interface SessionValidationOptions {
  /** The maximum length of an input, in characters. Default: 1,000,000. */
  readonly maxInputLength?: number | undefined;
  /** Whether a run must have a tenant. Default: false. */
  readonly requireTenant?: boolean | undefined;
  /** Whether this tenant may use the session now. Return true, or the reason why not. */
  readonly validate?: ((session: SessionToValidate) => MaybePromise<true | string>) | undefined;
  /** What happens if `validate` throws. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

/** What `validate` gets. */
export interface SessionToValidate {
  readonly sessionId: string;
  readonly tenantId: string | null;
  readonly agentName: string;
  readonly runId: string;
}

const LAYER = "sessionValidation";
const SESSION_ID = /^\w[\w.:@#/-]{0,511}$/;

/** Refuses a run whose session is malformed or must not be used, before anything is spent on it. */
export function sessionValidation(options: SessionValidationOptions = {}): AgentMiddleware {
  checkFields(LAYER, options, ["maxInputLength", "requireTenant", "validate", "onError"]);
  checkFunction(`${LAYER}.validate`, options.validate);
  const maxInputLength = checkInteger(`${LAYER}.maxInputLength`, options.maxInputLength ?? 1_000_000, 1);
  const onError = checkOnError(`${LAYER}.onError`, options.onError);
  const { validate } = options;
  const requireTenant = checkBoolean(`${LAYER}.requireTenant`, options.requireTenant ?? false);
  return {
    level: "agent",
    name: LAYER,
    async process(context, next) {
      context.meta.check();
      await enforce(
        { layer: LAYER, context, onError },
        () => problemOf(context, { maxInputLength, requireTenant }) ?? runValidate(context, validate),
      );
      await next();
    },
  };
}

function problemOf(
  { sessionId, input, meta }: AgentRunContext,
  rules: { readonly maxInputLength: number; readonly requireTenant: boolean },
): string | undefined {
  // Session ids become file names and keys elsewhere, so they must be safe for that.
  if (!SESSION_ID.test(sessionId) || sessionId.includes(".."))
    return 'the session id is malformed; expected 1 to 512 letters, digits or _ . : @ # / -, starting with a letter, a digit or _, and without ".."';
  if (input.length > rules.maxInputLength)
    return `the input has ${input.length} characters; at most ${rules.maxInputLength} are allowed`;
  if (rules.requireTenant && meta.tenantId === null) return "the run has no tenant";
  return undefined;
}

function runValidate(
  { sessionId, meta, agentName }: AgentRunContext,
  validate: SessionValidationOptions["validate"],
): MaybePromise<string | undefined> {
  if (validate === undefined) return undefined;
  const answer = validate({ sessionId, tenantId: meta.tenantId, agentName, runId: meta.runId });
  // Wrapped in a real promise: a custom thenable's `then` may return undefined, which would count as a yes.
  return isPromiseLike(answer) ? Promise.resolve(answer).then(toReason) : toReason(answer);
}

/** Only `true` allows. An undefined from a forgotten `return` does not. */
function toReason(answer: true | string): string | undefined {
  if (answer === true) return undefined;
  return typeof answer === "string" && answer !== "" ? answer : "the session was not accepted";
}
