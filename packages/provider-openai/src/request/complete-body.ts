import type { JsonObject, ModelRequest } from "@ravi/kernel";
import type { RequestBody, Target } from "../protocol.ts";

type Merge = (body: Record<string, unknown>, extra: JsonObject) => void;

/** The body with what the caller has for this provider alone, and without what is undefined. */
export function completeBody(
  body: Record<string, unknown>,
  { providerOptions = {} }: ModelRequest,
  { provider, stream }: Target,
  merge: Merge,
): RequestBody {
  for (const name of new Set(["openai", provider])) merge(body, providerOptions[name] ?? {});
  // Not to be overruled: what is read has to be what was asked for.
  body["stream"] = stream ? true : undefined;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
