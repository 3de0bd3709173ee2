import {
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type LLMClient,
} from "@ravi/kernel";
import { StrategyRun } from "../run/strategy-run.ts";
import { keepLesson, recallLessons } from "../run/lessons.ts";
import { readScore } from "../parse/score.ts";
import { readText } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { BestAnswer } from "./best-answer.ts";
import { checkOptionalModel, checkShare, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface ReflexionOptions {
  /** The maximum number of attempts. Default: 3. */
  readonly maxTries?: number | undefined;
  /** The score, from 0 to 1, that is good enough. Default: 0.8. */
  readonly threshold?: number | undefined;
  /** How many lessons of earlier runs are recalled from the agent's memory. Default: 5. */
  readonly lessons?: number | undefined;
  /** The model that scores. Default: the agent's own. */
  readonly evaluator?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.reflexion`. */
  readonly prompts?: OwnPrompts<"reflexion">;
}

/**
 * Tries, gets a score, writes down a lesson, and tries again. Lessons are stored in the user's memory and recalled in later runs.
 */
export class Reflexion implements Architecture {
  readonly name = "reflexion";
  private readonly maxTries: number;
  private readonly threshold: number;
  private readonly lessons: number;
  private readonly evaluator: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.reflexion;

  constructor(options: ReflexionOptions = {}) {
    checkFields("Reflexion", options, ["maxTries", "threshold", "lessons", "evaluator", "prompts"]);
    this.maxTries = checkInteger("Reflexion.maxTries", options.maxTries ?? 3, 1);
    this.threshold = checkShare("Reflexion.threshold", options.threshold ?? 0.8);
    this.lessons = checkInteger("Reflexion.lessons", options.lessons ?? 5, 0);
    this.evaluator = checkOptionalModel("Reflexion.evaluator", options.evaluator);
    this.prompts = ownPrompts("Reflexion", PROMPTS.reflexion, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const lessons = [...(await recallLessons(deps, prompt, this.lessons))];
    if (lessons.length > 0) yield progress("reflexion.lessons", { count: lessons.length });
    const best = new BestAnswer();
    for (let attempt = 1; attempt <= this.maxTries; attempt++) {
      yield progress("reflexion.attempt", { attempt });
      // If there is an answer already, a last turn for another one would be paid for and thrown away.
      const land = best.text === undefined;
      const answer = await run.work(this.prompts.attempt({ task: prompt, lessons }), { land });
      if (answer.stopReason === "budget") return run.finish(best.orElse(answer));
      const user = this.prompts.evaluate({ task: prompt, answer: answer.text });
      run.best(best.text ?? answer.text);
      const judgement = await run.ask({ user, model: this.evaluator, quiet: true });
      const score = readScore(judgement.text);
      yield progress("reflexion.score", { attempt, score: score ?? null });
      // A score that cannot be read counts as 0: the attempt never passes.
      best.offer(answer, score ?? 0);
      run.best(best.text ?? "");
      run.note("reflexion", { tries: attempt, score: best.score });
      if (score !== undefined && score >= this.threshold) return run.finish(answer);
      if (attempt === this.maxTries) break;
      const feedback = readText(judgement.text, ["feedback", "reason", "comments"]);
      const lesson = await run.ask({
        user: this.prompts.reflect({ task: prompt, answer: answer.text, feedback }),
        quiet: true,
      });
      // A refusal, or half a sentence, is no lesson: it would be recalled in every later run.
      if (lesson.stopReason !== "done") continue;
      lessons.push(lesson.text.trim());
      const kept = await keepLesson(deps, lesson.text.trim());
      yield progress("reflexion.lesson", { attempt, lesson: lesson.text.trim(), kept });
    }
    return run.finish(best.notGoodEnough());
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}
