import { ARGUMENT_LIMITS, checkFields, checkInteger } from "@ravi/kernel";
import type { OnGuardError } from "../guard.ts";
import { checkNames } from "../common/options.ts";
import type { FunctionMiddleware } from "../types.ts";
import { callGuard, type OnViolation } from "./refuse.ts";

export interface ToolCallValidationOptions {
  /** Only these tools may be called. Default: all but the denied ones. */
  readonly allow?: readonly string[] | undefined;
  /** These tools may not be called, even if `allow` has them. Default: none. */
  readonly deny?: readonly string[] | undefined;
  /** The maximum length of the arguments as JSON, in characters. Default: 100,000. */
  readonly maxLength?: number | undefined;
  /** How deep they may be nested. Default: 32. */
  readonly maxDepth?: number | undefined;
  /** How many values they may contain in total. Default: 10,000. */
  readonly maxValues?: number | undefined;
  /** Whether the model gets an error result, or the run ends. Default: "result". */
  readonly onViolation?: OnViolation | undefined;
  /** What happens if the check itself fails. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "toolCallValidation";

interface Limits {
  readonly maxLength: number;
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** Refuses calls of tools that are not allowed, and arguments that are too large. */
export function toolCallValidation(options: ToolCallValidationOptions = {}): FunctionMiddleware {
  checkFields(LAYER, options, [
    "allow",
    "deny",
    "maxLength",
    "maxDepth",
    "maxValues",
    "onViolation",
    "onError",
  ]);
  const allow =
    options.allow === undefined ? undefined : new Set(checkNames(`${LAYER}.allow`, options.allow));
  const deny = new Set(checkNames(`${LAYER}.deny`, options.deny ?? []));
  const limits: Limits = {
    maxLength: checkInteger(`${LAYER}.maxLength`, options.maxLength ?? 100_000, 1),
    maxDepth: checkInteger(`${LAYER}.maxDepth`, options.maxDepth ?? ARGUMENT_LIMITS.maxDepth / 2, 1),
    maxValues: checkInteger(`${LAYER}.maxValues`, options.maxValues ?? 10_000, 1),
  };
  const guard = callGuard(LAYER, options, ({ functionName, arguments: args }) => {
    if (deny.has(functionName) || allow?.has(functionName) === false) return "this tool is not allowed here";
    return sizeProblem(args, limits);
  });
  return { ...guard, tools: [...deny] };
}

/** Without recursion, so that deep nesting cannot overflow the stack. Stops at the first limit, which a cycle reaches too. */
function sizeProblem(value: unknown, { maxLength, maxDepth, maxValues }: Limits): string | undefined {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  let length = 0;
  let values = 0;
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (++values > maxValues) return `the arguments contain more than ${maxValues} values`;
    if (typeof item.value !== "object" || item.value === null) {
      length += typeof item.value === "string" ? item.value.length + 2 : String(item.value).length;
    } else if (item.depth > maxDepth) {
      return `the arguments are nested more than ${maxDepth} levels deep`;
    } else {
      for (const [key, inner] of Object.entries(item.value)) {
        length += Array.isArray(item.value) ? 1 : key.length + 4;
        open.push({ value: inner, depth: item.depth + 1 });
        if (open.length > maxValues) return `the arguments contain more than ${maxValues} values`;
      }
    }
    if (length > maxLength) return `the arguments are longer than ${maxLength} characters`;
  }
  return undefined;
}
