import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  type StopReason,
} from "@ravi/kernel";
import { checkAgent } from "@ravi/kernel/loop";
import { StrategyRun } from "../run/strategy-run.ts";
import { describeWork, limitReached, type WorkOutcome } from "../run/answer.ts";
import { describeWorkers } from "../run/worker.ts";
import { readChoice } from "../parse/choice.ts";
import { readVerdict } from "../parse/verdict.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { checkWorkers, ownPrompts, progress, withRole } from "./shared.ts";

export interface BlackboardOptions {
  /** The agents that may write on the board, by name. Their descriptions are shown to the coordinator. */
  readonly experts: Readonly<Record<string, Agent>>;
  /**
   * Chooses who writes next and when the board is complete: an agent, or `true` for the agent's own model. Default: the experts
   * take turns.
   */
  readonly coordinator?: Agent | true | undefined;
  /** The maximum number of contributions. Default: 10. */
  readonly maxRounds?: number | undefined;
  /** Replaces some of `PROMPTS.blackboard`. */
  readonly prompts?: OwnPrompts<"blackboard">;
}

/** Experts write on one board and each sees everything on it, until one of them has the solution or the board is complete. */
export class Blackboard implements Architecture {
  readonly name = "blackboard";
  private readonly experts: Readonly<Record<string, Agent>>;
  private readonly coordinator: Agent | true | undefined;
  private readonly maxRounds: number;
  private readonly prompts: typeof PROMPTS.blackboard;

  constructor(options: BlackboardOptions) {
    checkFields("Blackboard", options, ["experts", "coordinator", "maxRounds", "prompts"]);
    this.experts = checkWorkers("Blackboard.experts", options.experts);
    const { coordinator } = options;
    if (coordinator !== undefined && coordinator !== true) checkAgent("Blackboard.coordinator", coordinator);
    this.coordinator = coordinator;
    this.maxRounds = checkInteger("Blackboard.maxRounds", options.maxRounds ?? 10, 1);
    this.prompts = ownPrompts("Blackboard", PROMPTS.blackboard, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const names = Object.keys(this.experts);
    const board: string[] = [];
    // Since the last contribution: `idle` are the experts that added nothing, `passed` those of them that said so. They are sets,
    // because one that passes twice is still one.
    const idle = new Set<string>();
    const passed = new Set<string>();
    let cut: StopReason = "steps";
    let isReady = false;
    for (let round = 1; round <= this.maxRounds; round++) {
      const next = await this.next(run, board, names[(round - 1) % names.length] ?? "");
      yield progress("blackboard.next", { round, ...next });
      if (next.done) {
        isReady = true;
        break;
      }
      const worked = await this.contribute(run, next.name, board);
      const text = worked.error === undefined ? worked.text.trim() : "";
      if (worked.error !== undefined)
        yield progress("blackboard.failed", { round, expert: next.name, error: worked.error.message });
      const solution =
        worked.error === undefined && worked.stopReason === "done" ? solutionIn(text) : undefined;
      if (solution !== undefined) {
        yield progress("blackboard.solved", { round, expert: next.name });
        return run.finish({ text: solution, stopReason: "done" });
      }
      if (text === "" || isPass(text)) {
        idle.add(next.name);
        const limit = limitReached(worked);
        if (limit !== undefined) cut = limit;
        else if (worked.error === undefined) passed.add(next.name);
      } else {
        idle.clear();
        passed.clear();
        board.push(`[${next.name}] ${describeWork(worked)}`);
        run.findings(board.join("\n"));
      }
      // None of the experts adds anything. The board is complete only if all of them have passed.
      if (idle.size < names.length) continue;
      isReady = passed.size === names.length;
      break;
    }
    run.note("blackboard", { entries: board.length, ready: isReady });
    const answer = await run.ask({ user: this.prompts.answer({ task: prompt, board: board.join("\n") }) });
    const isWhole = isReady && board.length > 0;
    return run.finish(answer.stopReason === "done" && !isWhole ? { ...answer, stopReason: cut } : answer);
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    const { experts, coordinator } = this;
    return coordinator === undefined || coordinator === true
      ? experts
      : withRole(experts, "coordinator", coordinator);
  }

  /** Whose turn it is. If the coordinator fails or cannot be read, the experts take turns. */
  private async next(
    run: StrategyRun,
    board: readonly string[],
    byTurn: string,
  ): Promise<{ readonly name: string; readonly done: boolean; readonly by: "turn" | "coordinator" }> {
    const { coordinator, experts } = this;
    if (coordinator === undefined) return { name: byTurn, done: false, by: "turn" };
    const user = this.prompts.next({
      task: run.task,
      board: board.join("\n"),
      workers: describeWorkers(experts),
    });
    const worked: WorkOutcome =
      coordinator === true ? await run.ask({ user, quiet: true }) : await run.hire(coordinator, user);
    if (worked.error !== undefined) return { name: byTurn, done: false, by: "turn" };
    if (readVerdict(worked.text, ["done", "finished", "complete"]))
      return { name: "", done: true, by: "coordinator" };
    const name = readChoice(worked.text, Object.keys(experts), ["next", "agent", "expert", "name", "choice"]);
    return name === undefined
      ? { name: byTurn, done: false, by: "turn" }
      : { name, done: false, by: "coordinator" };
  }

  private contribute(run: StrategyRun, name: string, board: readonly string[]): Promise<WorkOutcome> {
    const agent = this.experts[name];
    if (agent === undefined) throw new TypeError(`the blackboard has no expert ${name}`);
    return run.hire(agent, this.prompts.contribute({ task: run.task, board: board.join("\n") }));
  }
}

const PASS = /^[^\p{L}\p{N}]*pass(?:\s*[^\p{L}\p{N}\s]+\s*(?<remark>.*))?$/isu;
/** No remark, or one sentence that only says that there is nothing to add. */
const NOTHING =
  /^(?:(?:I (?:have|see) |there is )?(?:nothing|no more|no further)(?:(?: (?:more|further|else|new|left|ideas|comments|to (?:add|say|contribute|report))){1,2}(?: (?:from|to|for|at|here|now|yet)(?: (?!but\b|except\b)\p{L}+)*)?)?)?[^\p{L}\p{N}]*$/iu;

/** PASS alone, or with a remark that there is nothing to add. */
function isPass(text: string): boolean {
  const pass = PASS.exec(text);
  return pass !== null && NOTHING.test(pass.groups?.["remark"] ?? "");
}

/** What experts write after "SOLUTION:" if there is none. */
const NO_SOLUTION =
  /^[^\p{L}\p{N}]*(?:unknown|unclear|undecided|pending|tbd|n\/a|pass|not (?:yet|known|found|clear))\b/iu;

/** The solution in a contribution. Undefined if its author passes or says that it is not known. */
export function solutionIn(text: string): string | undefined {
  const found = /^[^\p{L}\p{N}\n\r\u2028\u2029]*solution[^\p{L}\p{N}\n:]*:[*_]*\s*([\s\S]+)/imu
    .exec(text)?.[1]
    ?.trim();
  if (found === undefined || NO_SOLUTION.test(found) || /\bPASS[^\p{L}\p{N}]*$/u.test(found))
    return undefined;
  return found === "" ? undefined : found;
}
