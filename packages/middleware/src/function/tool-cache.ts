import { type FunctionContext, type ToolResult, checkFields, checkInteger } from "@ravi/kernel";
import { keyOf } from "../common/canonical.ts";
import { expiringCache, frozenCopy } from "../common/expiring-cache.ts";
import { checkNames, checkNumber } from "../common/options.ts";
import type { FunctionMiddleware } from "../types.ts";

export interface ToolCacheOptions {
  /** The tools whose results may be reused. There is no default: only you know which tools merely look something up. */
  readonly tools: readonly string[];
  /** The maximum number of results. Default: 1,000. */
  readonly maxEntries?: number | undefined;
  /** How long a result is kept, in milliseconds. Default: 60,000. */
  readonly ttlMs?: number | undefined;
}

/**
 * Returns a stored result to the same call of a lookup tool. Results are separate for each tenant and user, because a tool may
 * look up what is theirs. Errors are not stored.
 */
export function toolCache(options: ToolCacheOptions): FunctionMiddleware {
  checkFields("toolCache", options, ["tools", "maxEntries", "ttlMs"]);
  const tools = new Set(checkNames("toolCache.tools", options.tools));
  const results = expiringCache<ToolResult>({
    maxEntries: checkInteger("toolCache.maxEntries", options.maxEntries ?? 1_000, 1),
    ttlMs: checkNumber("toolCache.ttlMs", options.ttlMs ?? 60_000, 1),
  });
  return {
    level: "function",
    name: "toolCache",
    insideOf: ["redactor"],
    async process(context, next) {
      const key = tools.has(context.functionName) ? keyOfCall(context) : undefined;
      if (key === undefined) return next();
      const known = results.get(key, context.clock.now());
      if (known !== undefined) {
        context.result = known;
        return undefined;
      }
      await next();
      const copy = copyOf(context.result);
      if (copy !== undefined) results.set(key, copy, context.clock.now());
      return undefined;
    },
  };
}

function keyOfCall({ functionName, meta, scope, arguments: args }: FunctionContext): string | undefined {
  return keyOf({
    tenant: meta.tenantId,
    user: scope?.userId ?? null,
    tool: functionName,
    arguments: args ?? null,
  });
}

/** A frozen copy of a successful result; undefined for an error, or if it is not plain JSON. */
function copyOf(result: ToolResult | undefined): ToolResult | undefined {
  if (result === undefined || result.isError || keyOf(result) === undefined) return undefined;
  return frozenCopy(result);
}
