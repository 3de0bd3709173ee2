import type { AgentRunContext, ChatContext, FunctionContext, Middleware } from "@ravi/kernel";

/**
 * Rules for a layer's position. `role` is what it does for others ("redactor"); `insideOf` lists roles of which this layer must
 * be inside. A pipeline that breaks a rule is refused when it is built.
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

/** What the pipeline needs of a context: it removes the result after a failure, so that no answer is left behind. */
export interface WithResult {
  result: unknown;
}

/** The context of a layer of any level. */
export type AnyContext = AgentRunContext | ChatContext | FunctionContext;
