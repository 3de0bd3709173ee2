import {
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type LLMClient,
} from "@ravi/kernel";
import { Desk } from "../desk/desk.ts";
import { readText, readVerdict } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkModel, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface SelfRefineOptions {
  /** Rounds of criticism and improvement at the most: 3. */
  readonly maxRounds?: number | undefined;
  /** Who criticises: the agent's own model. */
  readonly critic?: LLMClient | undefined;
  readonly prompts?: OwnPrompts<"selfRefine">;
}

/** A draft, then criticism and a better draft, until there is nothing to criticise. Every draft is a whole answer. */
export class SelfRefine implements Architecture {
  readonly name = "self-refine";
  private readonly maxRounds: number;
  private readonly critic: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.selfRefine;

  constructor(options: SelfRefineOptions = {}) {
    checkFields("SelfRefine", options, ["maxRounds", "critic", "prompts"]);
    this.maxRounds = checkInteger("SelfRefine.maxRounds", options.maxRounds ?? 3, 0);
    this.critic = checkModel("SelfRefine.critic", options.critic);
    this.prompts = ownPrompts("SelfRefine", PROMPTS.selfRefine, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const desk = await Desk.open(session, deps, prompt);
    let draft = await desk.work(prompt);
    // What was cut off by the budget cannot be refined with it; what was refused is not a draft.
    if (draft.stopReason !== "done") return desk.finish(draft);
    desk.best(draft.text);
    for (let round = 1; round <= this.maxRounds; round++) {
      const user = this.prompts.critique({ task: prompt, answer: draft.text });
      const critique = await desk.ask({ user, model: this.critic });
      // What cannot be read as a verdict is criticism all the same.
      const satisfied = readVerdict(critique.text, ["satisfied", "done", "accept", "approved"]);
      yield progress("selfRefine.critique", { round, satisfied });
      desk.note("selfRefine", { rounds: round, satisfied });
      if (satisfied) break;
      // A critic who says nothing leaves nothing to heed, and another draft would be paid for all the same.
      if (critique.text.trim() === "") {
        yield progress("selfRefine.kept", { round, because: critique.stopReason });
        break;
      }
      const feedback = readText(critique.text, ["feedback", "critique", "criticism", "comments"]);
      const refined = await desk.ask({
        user: this.prompts.refine({ task: prompt, answer: draft.text, feedback }),
      });
      // Half a draft is no better than the whole one before it.
      if (refined.stopReason !== "done") {
        yield progress("selfRefine.kept", { round, because: refined.stopReason });
        break;
      }
      draft = refined;
      desk.best(draft.text);
    }
    return desk.finish(draft);
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}
