import type { JsonObject, ModelRequest } from "@ravi/kernel";
import type { RequestBody, Target } from "../wire/protocol.ts";

type Merge = (body: Record<string, unknown>, extra: JsonObject) => void;

/** Adds the caller's `providerOptions` to the body and removes undefined fields. */
export function completeBody(
  body: Record<string, unknown>,
  { providerOptions = {} }: ModelRequest,
  { provider, stream }: Target,
  merge: Merge,
): RequestBody {
  for (const name of new Set(["openai", provider])) merge(body, providerOptions[name] ?? {});
  // The caller cannot override this: the answer is read as it was asked for.
  body["stream"] = stream ? true : undefined;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
