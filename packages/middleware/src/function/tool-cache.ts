import { type FunctionContext, type ToolResult, checkFields, checkInteger } from "@ravi/kernel";
import { keyOf } from "../canonical.ts";
import { expiringCache, frozenCopy } from "../expiring-cache.ts";
import { checkNames, checkNumber } from "../options.ts";
import type { FunctionMiddleware } from "../types.ts";

export interface ToolCacheOptions {
  /** Whose results may be given again. There is no default: only you know which tools merely look something up. */
  readonly tools: readonly string[];
  /** Default 1,000. */
  readonly maxEntries?: number | undefined;
  /** Default 60,000. */
  readonly ttlMs?: number | undefined;
}

/**
 * Gives the same result to the same call of a tool that only looks things up, for the same tenant and user: a tool may look up
 * what is theirs. Errors are not kept.
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

/** A frozen copy of a success; undefined for an error, and for what is more than plain JSON. */
function copyOf(result: ToolResult | undefined): ToolResult | undefined {
  if (result === undefined || result.isError || keyOf(result) === undefined) return undefined;
  return frozenCopy(result);
}
