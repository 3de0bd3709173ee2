import {
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type LLMClient,
  type StopReason,
} from "@ravi/kernel";
import { StrategyRun } from "../run/strategy-run.ts";
import { answerFromCut, describeWork } from "../run/answer.ts";
import { describeTools } from "../run/worker.ts";
import { readSequence } from "../parse/list.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkOptionalModel, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface PlanAndExecuteOptions {
  /** The maximum number of steps in a plan. Default: 8. */
  readonly maxSteps?: number | undefined;
  /** The model that plans. Default: the agent's own. */
  readonly planner?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.planAndExecute`. */
  readonly prompts?: OwnPrompts<"planAndExecute">;
}

/** Makes a plan, executes its steps one after the other, each with tools, and answers from all results. */
export class PlanAndExecute implements Architecture {
  readonly name = "plan-and-execute";
  private readonly maxSteps: number;
  private readonly planner: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.planAndExecute;

  constructor(options: PlanAndExecuteOptions = {}) {
    checkFields("PlanAndExecute", options, ["maxSteps", "planner", "prompts"]);
    this.maxSteps = checkInteger("PlanAndExecute.maxSteps", options.maxSteps ?? 8, 1);
    this.planner = checkOptionalModel("PlanAndExecute.planner", options.planner);
    this.prompts = ownPrompts("PlanAndExecute", PROMPTS.planAndExecute, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const tools = describeTools(deps.tools);
    const plan = await run.ask({
      user: this.prompts.plan({ task: prompt, tools, most: this.maxSteps }),
      model: this.planner,
      quiet: true,
    });
    const isCut = plan.stopReason === "length";
    // The last step of a plan that was cut off may be incomplete, so it is dropped.
    const planned = readSequence(plan.text).slice(0, isCut ? -1 : undefined);
    const steps = planned.slice(0, this.maxSteps);
    yield progress("planAndExecute.plan", { steps, left: planned.length - steps.length });
    const isPlanned = steps.length > 0;
    if (!isPlanned) {
      // The plan cannot be read: do the whole task as one step.
      yield progress("planAndExecute.unreadable", { text: plan.text });
      steps.push(prompt);
    }
    const done: string[] = [];
    let cut: StopReason | undefined = isPlanned && isCut ? "length" : undefined;
    for (const [at, step] of steps.entries()) {
      yield progress("planAndExecute.step", { step: at + 1, task: step });
      const user = this.prompts.step({ task: prompt, step, done: done.join("\n\n") });
      const part = `${at + 1}. ${step}`;
      const result = await run.work(user, { part });
      done.push(`${part}\n${describeWork(result)}`);
      if (result.stopReason !== "done") cut ??= result.stopReason;
      run.findings(done.join("\n\n"));
      yield progress("planAndExecute.done", { step: at + 1, stopReason: result.stopReason });
    }
    for (const left of planned.slice(steps.length)) {
      cut ??= "steps";
      done.push(`(not done, the plan was too long) ${left}`);
    }
    if (isPlanned && isCut) done.push("(the plan was cut off here: there is more to do)");
    const answer = await run.ask({ user: this.prompts.answer({ task: prompt, done: done.join("\n\n") }) });
    await run.finish(answerFromCut(answer, cut));
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}
