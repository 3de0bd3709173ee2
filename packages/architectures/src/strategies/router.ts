import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  type Dependencies,
  type LLMClient,
} from "@ravi/kernel";
import { StrategyRun } from "../run/strategy-run.ts";
import { describeWorkers } from "../run/worker.ts";
import { readChoice } from "../parse/choice.ts";
import { readConfidence } from "../parse/score.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkOptionalModel, checkRole, checkShare, checkWorkers, ownPrompts, progress } from "./shared.ts";

export interface RouterOptions {
  /** The agents to choose from, by name. Their descriptions say what they are for. */
  readonly routes: Readonly<Record<string, Agent>>;
  /** The name of the route for tasks that fit no other, or whose agent fails. Default: none; if no route fits, the agent answers itself. */
  readonly fallback?: string | undefined;
  /** How confident the choice must be, from 0 to 1. Default: 0.5. */
  readonly confidence?: number | undefined;
  /** The model that chooses. Default: the agent's own. */
  readonly classifier?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.router`. */
  readonly prompts?: OwnPrompts<"router">;
}

/** One model call decides which agent answers; its answer is the result. */
export class Router implements Architecture {
  readonly name = "router";
  private readonly routes: Readonly<Record<string, Agent>>;
  private readonly fallback: string | undefined;
  private readonly confidence: number;
  private readonly classifier: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.router;

  constructor(options: RouterOptions) {
    checkFields("Router", options, ["routes", "fallback", "confidence", "classifier", "prompts"]);
    this.routes = checkWorkers("Router.routes", options.routes);
    const { fallback } = options;
    this.fallback = fallback === undefined ? undefined : checkRole("Router.fallback", fallback, this.routes);
    this.confidence = checkShare("Router.confidence", options.confidence ?? 0.5);
    this.classifier = checkOptionalModel("Router.classifier", options.classifier);
    this.prompts = ownPrompts("Router", PROMPTS.router, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const user = this.prompts.route({ task: prompt, routes: describeWorkers(this.routes) });
    const { text } = await run.ask({ user, model: this.classifier, quiet: true });
    const choice = decide({
      route: readChoice(text, Object.keys(this.routes), ["route", "agent", "choice", "name", "to"]),
      confidence: readConfidence(text, ["confidence", "score", "probability"]),
      least: this.confidence,
      fallback: this.fallback,
    });
    yield progress("router.route", { ...choice });
    run.note("router", { ...choice });
    for (const route of new Set([choice.route, this.fallback])) {
      const agent = route === undefined ? undefined : this.routes[route];
      if (agent === undefined) continue;
      const worked = await run.hire(agent, prompt);
      const isLast = route === this.fallback || this.fallback === undefined;
      // An empty answer does not count if the fallback can still answer.
      if (worked.error === undefined && (isLast || worked.text.trim() !== "")) return run.finish(worked);
      const error = worked.error?.message ?? "an empty answer";
      yield progress("router.failed", { route: route ?? null, error });
      if (worked.error !== undefined && isLast) throw worked.error;
    }
    return run.finish(await run.work(prompt));
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    return this.routes;
  }
}

/** Which route is taken, and why. */
export interface RouteDecision {
  /** Undefined if the agent answers itself. */
  readonly route?: string | undefined;
  readonly confidence: number | null;
  readonly because: "chosen" | "unsure" | "unknown";
}

/**
 * A choice of an unknown route, or one below the required confidence, goes to the fallback. A choice without any stated confidence counts
 * as confident: the name is what was asked for.
 */
export function decide(read: {
  readonly route: string | undefined;
  readonly confidence: number | undefined;
  readonly least: number;
  readonly fallback: string | undefined;
}): RouteDecision {
  const { route, confidence, least, fallback } = read;
  const stated = confidence ?? null;
  const fallbackRoute = fallback === undefined ? {} : { route: fallback };
  if (route === undefined) return { ...fallbackRoute, confidence: stated, because: "unknown" };
  if (confidence !== undefined && confidence < least)
    return { ...fallbackRoute, confidence: stated, because: "unsure" };
  return { route, confidence: stated, because: "chosen" };
}
