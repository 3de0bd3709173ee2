import {
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type LLMClient,
} from "@ravi/kernel";
import type { Answer } from "../run/answer.ts";
import { StrategyRun } from "../run/strategy-run.ts";
import { readText, readVerdict } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkOptionalModel, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface SelfRefineOptions {
  /** The maximum number of rounds of criticism and improvement. Default: 3. */
  readonly maxRounds?: number | undefined;
  /** The model that criticises. Default: the agent's own. */
  readonly critic?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.selfRefine`. */
  readonly prompts?: OwnPrompts<"selfRefine">;
}

/** Writes a draft, then criticises and improves it, until there is nothing to criticise. Every draft is a complete answer. */
export class SelfRefine implements Architecture {
  readonly name = "self-refine";
  private readonly maxRounds: number;
  private readonly critic: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.selfRefine;

  constructor(options: SelfRefineOptions = {}) {
    checkFields("SelfRefine", options, ["maxRounds", "critic", "prompts"]);
    this.maxRounds = checkInteger("SelfRefine.maxRounds", options.maxRounds ?? 3, 0);
    this.critic = checkOptionalModel("SelfRefine.critic", options.critic);
    this.prompts = ownPrompts("SelfRefine", PROMPTS.selfRefine, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    let draft = await run.work(prompt);
    // If the budget cut the draft off, there is none left to refine it; a refusal is not a draft.
    if (draft.stopReason !== "done") return run.finish(draft);
    run.best(draft.text);
    for (let round = 1; round <= this.maxRounds; round++) {
      const user = this.prompts.critique({ task: prompt, answer: draft.text });
      const critique = await run.ask({ user, model: this.critic, quiet: true });
      // A verdict that cannot be read counts as criticism.
      const satisfied = readVerdict(critique.text, ["satisfied", "done", "accept", "approved"]);
      yield progress("selfRefine.critique", { round, satisfied });
      run.note("selfRefine", { rounds: round, satisfied });
      if (satisfied) break;
      // An empty critique, or a refusal, gives nothing to improve; another draft would be paid for in vain.
      if (critique.text.trim() === "" || isRefused(critique)) {
        yield progress("selfRefine.kept", { round, because: critique.stopReason });
        break;
      }
      const feedback = readText(critique.text, ["feedback", "critique", "criticism", "comments"]);
      const refined = await run.ask({
        user: this.prompts.refine({ task: prompt, answer: draft.text, feedback }),
      });
      // An incomplete draft does not replace the complete one before it.
      if (refined.stopReason !== "done") {
        yield progress("selfRefine.kept", { round, because: refined.stopReason });
        break;
      }
      draft = refined;
      run.best(draft.text);
    }
    return run.finish(draft);
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}

function isRefused({ stopReason }: Answer): boolean {
  return stopReason === "refused" || stopReason === "filtered";
}
