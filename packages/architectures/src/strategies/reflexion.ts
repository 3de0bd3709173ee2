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
import { keepLesson, recallLessons } from "../desk/lessons.ts";
import { readScore } from "../parse/score.ts";
import { readText } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { Best } from "./best.ts";
import { checkModel, checkShare, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

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
    this.evaluator = checkModel("Reflexion.evaluator", options.evaluator);
    this.prompts = ownPrompts("Reflexion", PROMPTS.reflexion, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const desk = await Desk.open(session, deps, prompt);
    const lessons = [...(await recallLessons(deps, prompt, this.lessons))];
    if (lessons.length > 0) yield progress("reflexion.lessons", { count: lessons.length });
    const best = new Best();
    for (let attempt = 1; attempt <= this.maxTries; attempt++) {
      yield progress("reflexion.attempt", { attempt });
      // If there is an answer already, a last turn for another one would be paid for and thrown away.
      const land = best.text === undefined;
      const said = await desk.work(this.prompts.attempt({ task: prompt, lessons }), { land });
      if (said.stopReason === "budget") return desk.finish(best.orElse(said));
      const user = this.prompts.evaluate({ task: prompt, answer: said.text });
      desk.best(best.text ?? said.text);
      const judgement = await desk.ask({ user, model: this.evaluator });
      const score = readScore(judgement.text);
      yield progress("reflexion.score", { attempt, score: score ?? null });
      // A score that cannot be read counts as 0: the attempt never passes.
      best.offer(said, score ?? 0);
      desk.best(best.text ?? "");
      desk.note("reflexion", { tries: attempt, score: best.score });
      if (score !== undefined && score >= this.threshold) return desk.finish(said);
      if (attempt === this.maxTries) break;
      const feedback = readText(judgement.text, ["feedback", "reason", "comments"]);
      const lesson = await desk.ask({
        user: this.prompts.reflect({ task: prompt, answer: said.text, feedback }),
      });
      if (lesson.text.trim() === "") continue;
      lessons.push(lesson.text.trim());
      const kept = await keepLesson(deps, lesson.text.trim());
      yield progress("reflexion.lesson", { attempt, lesson: lesson.text.trim(), kept });
    }
    return desk.finish(best.notGoodEnough());
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}
