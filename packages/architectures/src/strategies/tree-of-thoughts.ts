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
import { readList } from "../parse/list.ts";
import { readScore } from "../parse/score.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { type Path, prune } from "./beam.ts";
import { checkOptionalModel, NO_WORKERS, ownPrompts, progress } from "./shared.ts";

export interface TreeOfThoughtsOptions {
  /** How many next thoughts are proposed for each path. Default: 3. */
  readonly branch?: number | undefined;
  /** How many thoughts a path has at most. Default: 3. */
  readonly depth?: number | undefined;
  /** How many paths are kept after each level. Default: 2. */
  readonly beam?: number | undefined;
  /** The model that scores. Default: the agent's own. */
  readonly evaluator?: LLMClient | undefined;
  /** Replaces some of `PROMPTS.treeOfThoughts`. */
  readonly prompts?: OwnPrompts<"treeOfThoughts">;
}

/** Explores several lines of thought at once, scores them, follows the best ones, and answers from the best. */
export class TreeOfThoughts implements Architecture {
  readonly name = "tree-of-thoughts";
  private readonly branch: number;
  private readonly depth: number;
  private readonly beam: number;
  private readonly evaluator: LLMClient | undefined;
  private readonly prompts: typeof PROMPTS.treeOfThoughts;

  constructor(options: TreeOfThoughtsOptions = {}) {
    checkFields("TreeOfThoughts", options, ["branch", "depth", "beam", "evaluator", "prompts"]);
    this.branch = checkInteger("TreeOfThoughts.branch", options.branch ?? 3, 1);
    this.depth = checkInteger("TreeOfThoughts.depth", options.depth ?? 3, 1);
    this.beam = checkInteger("TreeOfThoughts.beam", options.beam ?? 2, 1);
    this.evaluator = checkOptionalModel("TreeOfThoughts.evaluator", options.evaluator);
    this.prompts = ownPrompts("TreeOfThoughts", PROMPTS.treeOfThoughts, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    let paths: readonly Path[] = [{ thoughts: [], score: 0 }];
    for (let level = 1; level <= this.depth; level++) {
      const candidates = await this.propose(run, paths);
      // No more ideas: answer from what there is.
      if (candidates.length === 0) break;
      // Keep them before they are scored: they were paid for, and the money or the time may end first.
      run.findings(candidates.map((thoughts) => thoughts.join(" → ")).join("\n"));
      const scored = await this.score(run, candidates);
      paths = prune(scored, this.beam);
      const kept = paths.map(({ thoughts, score }) => ({ thought: thoughts.at(-1) ?? "", score }));
      yield progress("treeOfThoughts.level", { level, candidates: candidates.length, kept });
      run.findings((paths[0]?.thoughts ?? []).join("\n"));
    }
    const path = paths[0]?.thoughts ?? [];
    run.note("treeOfThoughts", { path });
    await run.finish(await run.ask({ user: this.prompts.answer({ task: prompt, path }) }));
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }

  private async propose(run: StrategyRun, paths: readonly Path[]): Promise<readonly (readonly string[])[]> {
    const { task } = run;
    const { answers, stop } = await run.askAll(
      paths.map(({ thoughts }) => ({
        user: this.prompts.propose({ task, path: thoughts, count: this.branch }),
      })),
    );
    if (stop !== undefined) throw stop;
    return paths.flatMap(({ thoughts }, at) => {
      const text = answers[at]?.text.trim() ?? "";
      const list = readList(text);
      // Prose instead of a list counts as one thought.
      const next = list.length === 0 ? [text].filter((thought) => thought !== "") : list;
      return next.slice(0, this.branch).map((thought) => [...thoughts, thought]);
    });
  }

  private async score(run: StrategyRun, candidates: readonly (readonly string[])[]): Promise<Path[]> {
    const { task } = run;
    const { answers, stop } = await run.askAll(
      candidates.map((path) => ({ user: this.prompts.score({ task, path }), model: this.evaluator })),
    );
    if (stop !== undefined) throw stop;
    // A thought whose score cannot be read counts as 0.
    return candidates.map((thoughts, at) => ({ thoughts, score: readScore(answers[at]?.text ?? "") ?? 0 }));
  }
}
