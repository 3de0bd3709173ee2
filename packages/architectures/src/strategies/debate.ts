import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type Architecture,
  checkFields,
  checkInteger,
  type Dependencies,
  InvalidValueError,
} from "@ravi/kernel";
import { checkAgent } from "@ravi/kernel/loop";
import { StrategyRun } from "../run/strategy-run.ts";
import { describeWork, type Answer, type WorkOutcome } from "../run/answer.ts";
import { readChoice } from "../parse/choice.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { agreementOf, answerIn, candidatesOf, countVotes, mostShared } from "./agreement.ts";
import { checkShare, checkWorkers, NO_WORKERS, ownPrompts, progress, withRole } from "./shared.ts";

export interface DebateOptions {
  /** The agents that debate, by name; at least two. Default: the agent's own model takes several `stances`. */
  readonly debaters?: Readonly<Record<string, Agent>> | undefined;
  /**
   * Instead of `debaters`: the points of view of the agent's own model; at least two. Default: an advocate, a sceptic and a
   * pragmatist.
   */
  readonly stances?: readonly string[] | undefined;
  /** The maximum number of rounds. Default: 2. */
  readonly rounds?: number | undefined;
  /** How similar the answers must be to end early, from 0 to 1. Default: 0.85. */
  readonly agreement?: number | undefined;
  /** The agent that decides at the end. Default: the debaters vote. */
  readonly judge?: Agent | undefined;
  /** Replaces some of `PROMPTS.debate`. */
  readonly prompts?: OwnPrompts<"debate">;
}

/** The last statement of each debater, in their order; undefined if one has said nothing yet. */
type LatestStatements = readonly (Answer | undefined)[];

const STANCES = [
  "a convinced advocate of the obvious answer",
  "a sceptic who looks for errors",
  "a pragmatist",
];

/**
 * Several debaters answer, read each other, and answer again. The result is what they agree on, or what the judge or a vote
 * decides.
 */
export class Debate implements Architecture {
  readonly name = "debate";
  private readonly debaters: Readonly<Record<string, Agent>>;
  private readonly stances: readonly string[];
  /** What each debater is called in front of the others. */
  private readonly names: readonly string[];
  private readonly rounds: number;
  private readonly agreement: number;
  private readonly judge: Agent | undefined;
  private readonly prompts: typeof PROMPTS.debate;

  constructor(options: DebateOptions = {}) {
    checkFields("Debate", options, ["debaters", "stances", "rounds", "agreement", "judge", "prompts"]);
    const { debaters, stances = STANCES, judge } = options;
    if (debaters !== undefined && options.stances !== undefined)
      throw new InvalidValueError({
        field: "Debate.stances",
        value: stances,
        expected:
          "nothing beside debaters, who have their own; put a point of view into a debater's instructions",
      });
    this.debaters = debaters === undefined ? NO_WORKERS : checkWorkers("Debate.debaters", debaters, 2);
    const areStrings =
      Array.isArray(stances) && Array.from<unknown>(stances).every((each) => typeof each === "string");
    if (!areStrings || stances.length < 2)
      throw new InvalidValueError({
        field: "Debate.stances",
        value: stances,
        expected: "an array of at least 2 strings",
      });
    if (judge !== undefined) checkAgent("Debate.judge", judge);
    this.names = debaters === undefined ? stances : Object.keys(debaters);
    this.stances = debaters === undefined ? stances : this.names.map(() => "");
    this.rounds = checkInteger("Debate.rounds", options.rounds ?? 2, 1);
    this.agreement = checkShare("Debate.agreement", options.agreement ?? 0.85);
    this.judge = judge;
    this.prompts = ownPrompts("Debate", PROMPTS.debate, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    let latest: LatestStatements = [];
    let statements: readonly Answer[] = [];
    for (let round = 1; round <= this.rounds; round++) {
      const worked = await this.askDebaters(run, latest);
      latest = yield* updateLatest(worked, latest, round);
      statements = latest.filter((one) => one !== undefined);
      const answers = statements.map(({ text }) => answerIn(text));
      const agreement = agreementOf(answers);
      const shared = statements[mostShared(answers)];
      run.best(answerIn(shared?.text ?? ""));
      yield progress("debate.round", { round, agreement });
      run.note("debate", { rounds: round, agreement });
      if (worked.some(hasNoBudget))
        return yield* this.finish(run, { text: session.output, stopReason: "budget" });
      // A single remaining debater is no agreement.
      if (statements.length > 1 && agreement >= this.agreement)
        return yield* this.finish(run, finalOf(shared));
    }
    // Nobody has said anything: a judge or a vote would be a waste of money.
    if (statements.length === 0) return run.finish(finalOf(undefined));
    const candidates = candidatesOf(statements.map(({ text }) => answerIn(text))).flatMap(
      (at) => statements[at] ?? [],
    );
    const answers = candidates.map(({ text }, at) => `Answer ${at + 1}:\n${answerIn(text)}`).join("\n\n");
    if (this.judge !== undefined) {
      const worked = await run.hire(this.judge, this.prompts.judge({ task: prompt, answers }));
      // A judge who says nothing leaves the best statement so far, which nobody was told.
      if (worked.error === undefined && worked.text.trim() === "")
        return yield* this.finish(run, { ...worked, text: session.output });
      if (worked.error === undefined) return run.finish(worked);
      yield progress("debate.noJudge", { error: worked.error.message });
    }
    if (candidates.length === 1) return yield* this.finish(run, finalOf(candidates[0]));
    const ballot = this.prompts.vote({ task: prompt, answers });
    const ballots = await this.askEach(
      run,
      this.stances.map(() => ballot),
    );
    if (ballots.some(hasNoBudget))
      return yield* this.finish(run, { text: session.output, stopReason: "budget" });
    const votes = ballots.map((vote) =>
      vote?.error === undefined ? voteIn(vote?.text ?? "", candidates.length) : undefined,
    );
    const winner = countVotes(votes, candidates.length);
    yield progress("debate.vote", {
      votes: votes.map((vote) => (vote === undefined ? null : vote + 1)),
      winner: winner + 1,
    });
    return yield* this.finish(run, finalOf(candidates[winner]));
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    return this.judge === undefined ? this.debaters : withRole(this.debaters, "judge", this.judge);
  }

  /** Ends with a statement. What the agent's own stances say is not told, since they speak at once: the one that counts is told here. */
  private async *finish(run: StrategyRun, answer: Answer): AsyncGenerator<AgentEvent, void> {
    const isTold = this.debaters !== NO_WORKERS;
    if (!isTold && answer.text.trim() !== "") yield { type: "text", delta: answer.text };
    await run.finish(answer);
  }

  private askDebaters(
    run: StrategyRun,
    before: LatestStatements,
  ): Promise<readonly (WorkOutcome | undefined)[]> {
    const { task } = run;
    const inputs = this.stances.map((stance, at) => {
      const own = before[at];
      if (own === undefined) return this.prompts.open({ task, stance });
      const others = before.flatMap((one, other) =>
        other === at || one === undefined ? [] : `[${this.names[other]}] ${describeWork(one)}`,
      );
      return this.prompts.rebut({ task, stance, others: others.join("\n\n"), own: own.text });
    });
    return this.askEach(run, inputs);
  }

  private async askEach(
    run: StrategyRun,
    inputs: readonly string[],
  ): Promise<readonly (WorkOutcome | undefined)[]> {
    const agents = Object.values(this.debaters);
    if (agents.length > 0) {
      const worked = await run.hireAll(agents.map((agent, at) => ({ agent, input: inputs[at] ?? run.task })));
      if (worked.some(({ error }) => error !== undefined)) {
        keepFirst(run, worked);
        await run.deps.runtime.check();
      }
      return worked;
    }
    const { answers, stop } = await run.askAll(inputs.map((user) => ({ user })));
    if (stop === undefined) return answers;
    keepFirst(run, answers);
    throw stop;
  }
}

/** If the run ends in the middle of its first round, keep an answer that was already given and paid for. */
function keepFirst(run: StrategyRun, worked: readonly (WorkOutcome | undefined)[]): void {
  for (const one of worked) {
    if (run.session.output !== "") return;
    if (one?.error === undefined) run.best(answerIn(one?.text ?? ""));
  }
}

/**
 * The last statement of each debater after a round. A debater that fails keeps its earlier one; if nobody has any, the failure is
 * thrown.
 */
function* updateLatest(
  worked: readonly (WorkOutcome | undefined)[],
  before: LatestStatements,
  round: number,
): Generator<AgentEvent, LatestStatements> {
  const latest: (Answer | undefined)[] = [];
  for (const [at, one] of worked.entries()) {
    // A debater with nothing new to say keeps its earlier statement.
    latest.push(one?.error === undefined && one?.text.trim() !== "" ? (one ?? before[at]) : before[at]);
    if (one?.error !== undefined)
      yield progress("debate.failed", { round, debater: at + 1, error: one.error.message });
  }
  const failure = worked.find((one) => one?.error !== undefined)?.error;
  if (latest.every((one) => one === undefined) && failure !== undefined) throw failure;
  return latest;
}

/** Whether a debater could not answer because the budget is exhausted: then there is none for another round either. */
function hasNoBudget(worked: WorkOutcome | undefined): boolean {
  return worked?.error === undefined && worked?.stopReason === "budget" && worked.text.trim() === "";
}

function finalOf(statement: Answer | undefined): Answer {
  return statement === undefined
    ? { text: "", stopReason: "steps" }
    : { ...statement, text: answerIn(statement.text) };
}

function voteIn(text: string, candidates: number): number | undefined {
  const numbers = Array.from({ length: candidates }, (_, at) => String(at + 1));
  const choice = readChoice(text, numbers, ["vote", "choice", "winner", "best", "answer"]);
  return choice === undefined ? undefined : Number(choice) - 1;
}
