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
import { StrategyRun } from "../run/strategy-run.ts";
import { describeWork, type WorkOutcome } from "../run/answer.ts";
import { describeWorkers } from "../run/worker.ts";
import { type OwnPrompts, PROMPTS } from "../prompts.ts";
import { isCircle, memberNamed, readHandoff } from "./handoff.ts";
import { checkRole, checkWorkers, ownPrompts, progress } from "./shared.ts";

export interface SwarmOptions {
  /** The members, by name. Their descriptions tell the others what they are for. */
  readonly members: Readonly<Record<string, Agent>>;
  /** The name of the member that begins. Default: the first member. */
  readonly entry?: string | undefined;
  /** The maximum number of hand-offs. Default: 8. */
  readonly maxHandoffs?: number | undefined;
  /** Replaces some of `PROMPTS.swarm`. */
  readonly prompts?: OwnPrompts<"swarm">;
}

/** Members hand the work over to each other, without a leader, until one of them answers. */
export class Swarm implements Architecture {
  readonly name = "swarm";
  private readonly members: Readonly<Record<string, Agent>>;
  private readonly entry: string;
  private readonly maxHandoffs: number;
  private readonly prompts: typeof PROMPTS.swarm;

  constructor(options: SwarmOptions) {
    checkFields("Swarm", options, ["members", "entry", "maxHandoffs", "prompts"]);
    this.members = checkWorkers("Swarm.members", options.members);
    this.entry = checkRole("Swarm.entry", options.entry ?? Object.keys(this.members)[0], this.members);
    this.maxHandoffs = checkInteger("Swarm.maxHandoffs", options.maxHandoffs ?? 8, 0);
    this.prompts = ownPrompts("Swarm", PROMPTS.swarm, options.prompts);
  }

  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    const run = await StrategyRun.open(session, deps, prompt);
    const names = Object.keys(this.members);
    const trail = [this.entry];
    const log: string[] = [];
    if (this.maxHandoffs === 0) {
      // Nobody may hand over, so no colleagues are offered: the first answer is the result.
      const worked = await this.lastTurn(run, this.entry, log);
      if (worked.error !== undefined) throw worked.error;
      return run.finish(worked);
    }
    let ended: StopReason = "steps";
    for (let handoffs = 0; ; handoffs++) {
      const name = trail.at(-1) ?? this.entry;
      const worked = await this.turn(run, name, log);
      if (worked.error !== undefined) throw worked.error;
      const handoff = worked.stopReason === "done" ? readHandoff(worked.text, names) : undefined;
      // An answer, complete or cut off, is the result of the run.
      if (handoff === undefined) return run.finish(worked);
      if (handoffs === this.maxHandoffs) break;
      const to = memberNamed(handoff.to, this.members);
      yield progress("swarm.handoff", {
        from: name,
        to: handoff.to,
        known: to !== undefined,
        task: handoff.task,
      });
      log.push(`${name} handed over to ${handoff.to}: ${handoff.task || describeWork(worked)}`);
      run.findings(log.join("\n"));
      if (to === undefined) {
        // The member is told so and goes on itself.
        log.push(this.prompts.unknown({ name: handoff.to, peers: this.peersOf(name) }));
        continue;
      }
      trail.push(to);
      run.note("swarm", { trail: [...trail] });
      if (isCircle(trail)) {
        ended = "loop";
        break;
      }
    }
    yield progress("swarm.last", { because: ended, trail: [...trail] });
    const last = trail.at(-1) ?? this.entry;
    const worked = await this.lastTurn(run, last, log);
    if (worked.error !== undefined) throw worked.error;
    // A member that hands over even now has not answered.
    const text = readHandoff(worked.text, names) === undefined ? worked.text : log.join("\n");
    return run.finish({
      ...worked,
      text,
      stopReason: worked.stopReason === "done" ? ended : worked.stopReason,
    });
  }

  declaredWorkers(): Readonly<Record<string, Agent>> {
    return this.members;
  }

  private turn(run: StrategyRun, name: string, log: readonly string[]): Promise<WorkOutcome> {
    const { task } = run;
    const input = this.prompts.turn({ task, peers: this.peersOf(name), trail: log.join("\n") });
    return run.hire(this.member(name), input);
  }

  private lastTurn(run: StrategyRun, name: string, log: readonly string[]): Promise<WorkOutcome> {
    return run.hire(this.member(name), this.prompts.last({ task: run.task, trail: log.join("\n") }));
  }

  private member(name: string): Agent {
    const agent = this.members[name];
    if (agent === undefined) throw new TypeError(`the swarm has no member ${name}`);
    return agent;
  }

  private peersOf(name: string): string {
    const peers = Object.entries(this.members).filter(([member]) => member !== name);
    return describeWorkers(Object.fromEntries(peers));
  }
}
