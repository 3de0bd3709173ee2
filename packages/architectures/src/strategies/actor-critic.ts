import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
} from "@ravi/kernel";
import { checkAgent } from "@ravi/kernel/loop";
import { StrategyRun } from "../run/strategy-run.ts";
import { limitReached, type WorkOutcome } from "../run/answer.ts";
import { readScore } from "../parse/score.ts";
import { readText } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { BestAnswer } from "./best-answer.ts";
import { checkShare, ownPrompts, progress } from "./shared.ts";

export interface ActorCriticOptions {
  /** The agent that answers. Default: the agent itself, with its tools. */
  readonly actor?: Agent | undefined;
  /** The agent that judges. Default: the agent's own model. */
  readonly critic?: Agent | undefined;
  /** The maximum number of answers. Default: 3. */
  readonly maxRounds?: number | undefined;
  /** The score, from 0 to 1, that is good enough. Default: 0.9. */
  readonly threshold?: number | undefined;
  /** Replaces some of `PROMPTS.actorCritic`. */
  readonly prompts?: OwnPrompts<"actorCritic">;
}

/**
 * An actor answers and a critic judges, until the score is high enough. Otherwise the result is the answer with the best score.
 */
export class ActorCritic implements Architecture {
  readonly name = "actor-critic";
  private readonly actor: Agent | undefined;
  private readonly critic: Agent | undefined;
  private readonly maxRounds: number;
  private readonly threshold: number;
  private readonly prompts: typeof PROMPTS.actorCritic;

  constructor(options: ActorCriticOptions = {}) {
    checkFields("ActorCritic", options, ["actor", "critic", "maxRounds", "threshold", "prompts"]);
    if (options.actor !== undefined) checkAgent("ActorCritic.actor", options.actor);
    if (options.critic !== undefined) checkAgent("ActorCritic.critic", options.critic);
    this.actor = options.actor;
    this.critic = options.critic;
    this.maxRounds = checkInteger("ActorCritic.maxRounds", options.maxRounds ?? 3, 1);
    this.threshold = checkShare("ActorCritic.threshold", options.threshold ?? 0.9);
    this.prompts = ownPrompts("ActorCritic", PROMPTS.actorCritic, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const best = new BestAnswer();
    let input = prompt;
    for (let round = 1; round <= this.maxRounds; round++) {
      yield progress("actorCritic.round", { round });
      // If there is an answer already, a last turn for another one would be paid for and thrown away.
      const worked = await this.act(run, input, best.text === undefined);
      if (worked.error !== undefined) {
        if (best.text === undefined) throw worked.error;
        yield progress("actorCritic.failed", { round, who: "actor", error: worked.error.message });
        return run.finish({ text: best.text, stopReason: limitReached(worked) ?? "failed" });
      }
      const limit = limitReached(worked);
      if (limit !== undefined) return run.finish(best.orElse({ ...worked, stopReason: limit }));
      run.best(best.text ?? worked.text);
      const judged = await this.judge(run, worked.text);
      if (judged.error !== undefined)
        yield progress("actorCritic.failed", { round, who: "critic", error: judged.error.message });
      const opinion = judged.error === undefined ? judged.text : "";
      const score = readScore(opinion);
      yield progress("actorCritic.score", { round, score: score ?? null });
      // An answer without a readable judgement is not approved.
      best.offer(worked, score ?? 0);
      run.best(best.text ?? "");
      run.note("actorCritic", { rounds: round, score: best.score });
      if (score !== undefined && score >= this.threshold) return run.finish(worked);
      // There is no judgement and nothing left for another one: end with the best answer so far.
      const limitOfJudge = score === undefined ? limitReached(judged) : undefined;
      if (limitOfJudge !== undefined) return run.finish({ text: best.text ?? "", stopReason: limitOfJudge });
      const feedback = readText(opinion, ["feedback", "critique", "comments", "reason"]);
      input = this.prompts.revise({ task: prompt, answer: worked.text, feedback });
    }
    return run.finish(best.notGoodEnough());
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    const { actor, critic } = this;
    return { ...(actor !== undefined && { actor }), ...(critic !== undefined && { critic }) };
  }

  private act(run: StrategyRun, input: string, land: boolean): Promise<WorkOutcome> {
    return this.actor === undefined ? run.work(input, { land }) : run.hire(this.actor, input);
  }

  private judge(run: StrategyRun, answer: string): Promise<WorkOutcome> {
    const user = this.prompts.criticise({ task: run.task, answer });
    return this.critic === undefined ? run.ask({ user, quiet: true }) : run.hire(this.critic, user);
  }
}
