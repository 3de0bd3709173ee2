import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkOneOf,
  type Dependencies,
  type LLMClient,
} from "@ravi/kernel";
import { Desk } from "../desk/desk.ts";
import { describeWorkers } from "../desk/worker.ts";
import { readChoice } from "../parse/choice.ts";
import { readConfidence } from "../parse/score.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkModel, checkShare, checkWorkers, ownPrompts, progress } from "./shared.ts";

export interface RouterOptions {
  /** The agents to choose from, by name; their descriptions say what they are for. */
  readonly routes: Readonly<Record<string, Agent>>;
  /** Who gets what fits nobody; without one the agent answers itself. */
  readonly fallback?: string | undefined;
  /** How sure the choice must be: 0.5. */
  readonly confidence?: number | undefined;
  /** Who chooses: the agent's own model. */
  readonly classifier?: LLMClient | undefined;
  readonly prompts?: OwnPrompts<"router">;
}

/** One call decides who answers; that agent's answer is the answer. */
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
    if (fallback !== undefined)
      checkOneOf(
        "Router.fallback",
        fallback,
        Object.fromEntries(Object.keys(this.routes).map((name) => [name, name])),
      );
    this.fallback = fallback;
    this.confidence = checkShare("Router.confidence", options.confidence ?? 0.5);
    this.classifier = checkModel("Router.classifier", options.classifier);
    this.prompts = ownPrompts("Router", PROMPTS.router, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const desk = await Desk.open(session, deps, prompt);
    const user = this.prompts.route({ task: prompt, routes: describeWorkers(this.routes) });
    const { text } = await desk.ask({ user, model: this.classifier });
    const choice = decide({
      route: readChoice(text, Object.keys(this.routes), ["route", "agent", "choice", "name", "to"]),
      confidence: readConfidence(text, ["confidence", "score", "probability"]),
      least: this.confidence,
      fallback: this.fallback,
    });
    yield progress("router.route", { ...choice });
    desk.note("router", { ...choice });
    for (const route of new Set([choice.route, this.fallback])) {
      const agent = route === undefined ? undefined : this.routes[route];
      if (agent === undefined) continue;
      const worked = await desk.hire(agent, prompt);
      const isLast = route === this.fallback || this.fallback === undefined;
      // Silence is no answer where somebody else can give one.
      if (worked.error === undefined && (isLast || worked.text.trim() !== "")) return desk.finish(worked);
      const error = worked.error?.message ?? "an empty answer";
      yield progress("router.failed", { route: route ?? null, error });
      if (worked.error !== undefined && isLast) throw worked.error;
    }
    return desk.finish(await desk.work(prompt));
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    return this.routes;
  }
}

export interface RouteDecision {
  /** Undefined: the agent answers itself. */
  readonly route?: string | undefined;
  readonly confidence: number | null;
  readonly because: "chosen" | "unsure" | "unknown";
}

/**
 * A choice that names nobody, or of which nobody is sure, goes to the fallback. One without a word about how sure it is counts
 * as sure: it is the name that was asked for.
 */
export function decide(read: {
  readonly route: string | undefined;
  readonly confidence: number | undefined;
  readonly least: number;
  readonly fallback: string | undefined;
}): RouteDecision {
  const { route, confidence, least, fallback } = read;
  const told = confidence ?? null;
  const instead = fallback === undefined ? {} : { route: fallback };
  if (route === undefined) return { ...instead, confidence: told, because: "unknown" };
  if (confidence !== undefined && confidence < least)
    return { ...instead, confidence: told, because: "unsure" };
  return { route, confidence: told, because: "chosen" };
}
