import {
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type HireOutcome,
  type Leaf,
  type LLMClient,
  type Outcome,
  type RaviError,
} from "@ravi/kernel";
import { isStop, tellHandoff } from "@ravi/kernel/loop";
import { StrategyRun } from "../run/strategy-run.ts";
import { answerFromCut } from "../run/answer.ts";
import { describeInputs, hireAgain } from "../run/worker.ts";
import {
  fillIn,
  placeholdersIn,
  readCutRewooPlan,
  readRewooPlan,
  type RewooStep,
} from "../parse/rewoo-plan.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { levelsOf } from "./levels.ts";
import { type Evidence, evidenceOf, failed, leafFor } from "./rewoo-step.ts";
import { checkOptionalModel, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface ReWOOOptions {
  /** The maximum number of steps in a plan. Default: 8. */
  readonly maxSteps?: number | undefined;
  /** The model that plans. Default: the agent's own. */
  readonly planner?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.rewoo`. */
  readonly prompts?: OwnPrompts<"rewoo">;
}

/**
 * Makes the whole plan before anything is executed. Steps refer to each other's results by `#E1`, independent steps run at once, and one
 * last call answers from the evidence: two model calls for any number of tools.
 */
export class ReWOO implements Architecture {
  readonly name = "rewoo";
  private readonly maxSteps: number;
  private readonly planner: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.rewoo;

  constructor(options: ReWOOOptions = {}) {
    checkFields("ReWOO", options, ["maxSteps", "planner", "prompts"]);
    this.maxSteps = checkInteger("ReWOO.maxSteps", options.maxSteps ?? 8, 1);
    this.planner = checkOptionalModel("ReWOO.planner", options.planner);
    this.prompts = ownPrompts("ReWOO", PROMPTS.rewoo, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const tools = describeInputs(deps.tools);
    const user = this.prompts.plan({ task: prompt, tools, most: this.maxSteps });
    const plan = await run.ask({ user, model: this.planner, quiet: true });
    const read = plan.stopReason === "length" ? readCutRewooPlan : readRewooPlan;
    const planned = read(plan.text);
    const steps = planned.slice(0, this.maxSteps);
    const { levels, stuck } = levelsOf(steps);
    const show = levels.map((level) => level.map(({ id }) => id));
    yield progress("rewoo.plan", {
      levels: show,
      stuck: Object.fromEntries(stuck),
      left: planned.length - steps.length,
    });
    if (planned.length === 0) yield progress("rewoo.unreadable", { text: plan.text });
    const evidence = new Map<string, Evidence>();
    for (const [id, why] of stuck) evidence.set(id, failed(`not run: ${why}`));
    for (const [at, level] of levels.entries()) {
      const stop = await this.runLevel(run, level, evidence);
      run.findings(describeEvidence(steps, evidence));
      yield progress("rewoo.level", {
        level: at + 1,
        failed: level.flatMap(({ id }) => (evidence.get(id)?.isError === true ? [id] : [])),
      });
      if (stop !== undefined) throw stop;
    }
    for (const { id } of planned.slice(this.maxSteps))
      evidence.set(id, failed("not run: the plan was too long"));
    const found = describeEvidence(planned, evidence);
    const answer = await run.ask({ user: this.prompts.solve({ task: prompt, evidence: found }) });
    // An answer without any evidence, for example after an unreadable plan, does not count as complete.
    const isWhole = planned.length === steps.length && [...evidence.values()].some(({ isError }) => !isError);
    const cut = plan.stopReason === "length" ? "length" : isWhole ? undefined : "steps";
    await run.finish(answerFromCut(answer, cut));
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }

  private async runLevel(
    run: StrategyRun,
    level: readonly RewooStep[],
    evidence: Map<string, Evidence>,
  ): Promise<RaviError | undefined> {
    const { deps } = run;
    const running: { readonly id: string; readonly leaf: Leaf }[] = [];
    for (const step of level) {
      const leaf = await this.leafOrFailure(run, step, evidence);
      if (!("kind" in leaf)) {
        evidence.set(step.id, leaf);
        continue;
      }
      running.push({ id: step.id, leaf });
      if (leaf.kind === "tool") deps.runtime.emit({ type: "toolCall", call: leaf.call });
      if (leaf.kind === "hire") tellHandoff(deps.runtime, leaf);
    }
    const leaves = running.map(({ leaf }) => leaf);
    const outcomes = leaves.length === 0 ? [] : await this.runLeaves(deps, leaves);
    let stop: RaviError | undefined;
    for (const [at, { id, leaf }] of running.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) continue;
      const found = evidenceOf(outcome);
      evidence.set(id, found);
      if (leaf.kind === "tool") {
        const { text: content, isError } = found;
        deps.runtime.emit({ type: "toolResult", callId: id, name: leaf.tool.name, content, isError });
      }
      // A limit that a child reached concerns the child only; one that this run reached ends it.
      if (leaf.kind !== "hire" && "error" in outcome && isStop(outcome.error)) stop ??= outcome.error;
    }
    return stop;
  }

  /** Runs all at once. A hire that found no slot is tried again when the others have left theirs. */
  private async runLeaves(deps: Dependencies, leaves: readonly Leaf[]): Promise<readonly Outcome[]> {
    const outcomes = await deps.runtime.batch(leaves);
    const hires = leaves.flatMap((leaf, at) =>
      leaf.kind === "hire" ? [{ at, leaf, outcome: outcomes[at] as HireOutcome }] : [],
    );
    const again = await hireAgain(deps, hires);
    for (const [n, { at }] of hires.entries()) {
      const outcome = again[n];
      if (outcome !== undefined) outcomes[at] = outcome;
    }
    return outcomes;
  }

  private async leafOrFailure(
    run: StrategyRun,
    step: RewooStep,
    evidence: ReadonlyMap<string, Evidence>,
  ): Promise<Leaf | Evidence> {
    const { deps, task } = run;
    const broken = placeholdersIn(step.input).find((id) => evidence.get(id)?.isError === true);
    if (broken !== undefined) return failed(`not run: it needs #${broken}, which failed`);
    const texts = new Map([...evidence].map(([id, { text }]) => [id, text]));
    const filled = { ...step, input: fillIn(step.input, texts) };
    return leafFor(filled, deps, (input) => ({
      kind: "llm",
      model: deps.model,
      request: run.requestFor({ user: this.prompts.think({ task, input }) }),
      quiet: true,
    }));
  }
}

function describeEvidence(steps: readonly RewooStep[], evidence: ReadonlyMap<string, Evidence>): string {
  return steps
    .flatMap(({ id, tool, input }) => {
      const found = evidence.get(id);
      return found === undefined ? [] : [`#${id} (${tool} ${JSON.stringify(input)}): ${found.text}`];
    })
    .join("\n");
}
