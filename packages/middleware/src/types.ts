import type { AgentRunContext, ChatContext, FunctionContext, Middleware } from "@ravi/kernel";

/**
 * What a layer may say about where it stands. `role` is what it does for others ("redactor"); `insideOf` lists the roles
 * that must never stand inside it. A pipeline that breaks such a rule is refused when it is built.
 */
export interface Placement {
  readonly role?: string | undefined;
  readonly insideOf?: readonly string[] | undefined;
}

/** A layer around every run. */
export interface AgentMiddleware extends Middleware<AgentRunContext>, Placement {
  readonly level: "agent";
}

/** A layer around every model call. */
export interface ChatMiddleware extends Middleware<ChatContext>, Placement {
  readonly level: "chat";
}

/** A layer around every tool call. */
export interface FunctionMiddleware extends Middleware<FunctionContext>, Placement {
  readonly level: "function";
}

/** What the pipeline itself needs of a context: an error inside must not leave an answer behind. */
export interface WithResult {
  result: unknown;
}
