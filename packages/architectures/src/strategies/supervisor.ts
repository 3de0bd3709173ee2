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
import { HELPER_PREFIX, type LoopExtension } from "@ravi/kernel/loop";
import { StrategyRun } from "../run/strategy-run.ts";
import { loopPlan } from "../run/loop-plan.ts";
import type { Answer } from "../run/answer.ts";
import { describeWorkers, withExtraTools } from "../run/worker.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { StrategyAgent } from "../strategy-agent.ts";
import { ReAct } from "./react.ts";
import { checkWorkers, ownPrompts, progress } from "./shared.ts";
import { type SpawnWorker, Team } from "./team.ts";

export interface SupervisorOptions {
  /** The team, by role. */
  readonly workers: Readonly<Record<string, Agent>>;
  /** Whether it may create workers. `true`: with its own model and tools; a function: your own way. Default: false. */
  readonly spawn?: boolean | SpawnWorker | undefined;
  /** The maximum number of workers that it may create. Default: 5. */
  readonly maxSpawns?: number | undefined;
  /** Replaces some of `PROMPTS.supervisor`. */
  readonly prompts?: OwnPrompts<"supervisor">;
}

/** Leads a team: delegates tasks, then forwards a worker's answer unchanged or answers from what the team found. */
export class Supervisor implements Architecture {
  readonly name = "supervisor";
  private readonly workers: Readonly<Record<string, Agent>>;
  private readonly spawn: boolean | SpawnWorker;
  private readonly maxSpawns: number;
  private readonly prompts: typeof PROMPTS.supervisor;

  constructor(options: SupervisorOptions) {
    checkFields("Supervisor", options, ["workers", "spawn", "maxSpawns", "prompts"]);
    this.spawn = options.spawn ?? false;
    if (typeof this.spawn !== "boolean" && typeof this.spawn !== "function") {
      const expected = "true, false, or a function that creates a worker";
      throw new InvalidValueError({ field: "Supervisor.spawn", value: this.spawn, expected });
    }
    this.workers = checkWorkers("Supervisor.workers", options.workers, this.spawn === false ? 1 : 0);
    this.maxSpawns = checkInteger("Supervisor.maxSpawns", options.maxSpawns ?? 5, 0);
    this.prompts = ownPrompts("Supervisor", PROMPTS.supervisor, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const team = new Team(deps, this.workers, this.spawner(deps), this.maxSpawns);
    const answer = await this.lead(run, team);
    if (team.forwarded !== undefined)
      yield progress("supervisor.forwarded", { stopReason: answer.stopReason });
    await run.finish(answer);
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    return this.workers;
  }

  private async lead(run: StrategyRun, team: Team): Promise<Answer> {
    const { deps, session, task } = run;
    const spawns = this.spawn === false ? 0 : this.maxSpawns;
    const system = this.prompts.system({ workers: describeWorkers(this.workers), spawns });
    const plan = loopPlan(
      withExtraTools(deps, team.tools()),
      [session.instructions, system].join("\n\n").trim(),
    );
    const extension: LoopExtension = {
      before: (call) => team.before(call),
      afterHires: async (hires) => {
        const results = await team.afterHires(hires);
        run.findings(team.found());
        return results;
      },
    };
    return run.work(task, { plan, extension });
  }

  private spawner(deps: Dependencies): SpawnWorker | undefined {
    if (this.spawn === false) return undefined;
    if (this.spawn !== true) return this.spawn;
    const { model, tools, maxTurns, permissions, telemetry, auditLog, middleware } = deps;
    return ({ name, instructions }) =>
      new StrategyAgent({
        name: `${HELPER_PREFIX}${name}`,
        instructions,
        model,
        tools,
        maxTurns,
        // What the supervisor may not do, a worker that its model has defined may not do either.
        permissions,
        telemetry,
        auditLog: auditLog ?? undefined,
        middleware: middleware && { chat: middleware.chat, function: middleware.function },
        architecture: new ReAct(),
      });
  }
}
