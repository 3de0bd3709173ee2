import type { JsonObject } from "@ravi/kernel";
import type { Refusal } from "./refusal.ts";

/** The body of an error in OpenAI's format. */
export function errorBody({ status, message, code, param }: Refusal): JsonObject {
  return { error: { message, type: typeOf(status), param: param ?? null, code: code ?? null } };
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
