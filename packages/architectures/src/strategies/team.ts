import {
  type Agent,
  type DelegateTool,
  type Dependencies,
  type HireLeaf,
  InvalidValueError,
  parseJson,
  type StandardSchema,
  type Tool,
  type ToolCall,
  type ToolResult,
} from "@ravi/kernel";
import { checkAgent, type Finish, type Hired, hireResult, textSchema } from "@ravi/kernel/loop";
import { describeWork, type Answer, outcomeOf } from "../run/answer.ts";
import { hireAgain } from "../run/worker.ts";
import { readChoice } from "../parse/choice.ts";

const WORKER = "The worker: a name from your team.";
const TASK =
  "The whole task, with everything that is needed to do it: the worker sees nothing else of this conversation.";

const FORWARD = "forward_message";

/** Creates the worker that a supervisor asks for. */
export type SpawnWorker = (wanted: { readonly name: string; readonly instructions: string }) => Agent;

/**
 * The team of one run of a supervisor: its members, and the last answer of each. It changes only when the loop hires or reads a call, which
 * a replay repeats, so it is the same after a crash.
 */
export class Team {
  private readonly deps: Dependencies;
  private readonly members: Map<string, Agent>;
  private readonly spawn: SpawnWorker | undefined;
  private spawnsLeft: number;
  private readonly roles = new Map<HireLeaf, string>();
  private readonly answers = new Map<string, Answer>();
  /** Every answer, in the order given: a worker may have had several tasks. */
  private readonly all: string[] = [];
  /** The answer that is passed on unchanged, if any. */
  forwarded: Answer | undefined;

  constructor(
    deps: Dependencies,
    workers: Readonly<Record<string, Agent>>,
    spawn: SpawnWorker | undefined,
    maxSpawns: number,
  ) {
    this.deps = deps;
    this.members = new Map(Object.entries(workers));
    this.spawn = spawn;
    this.spawnsLeft = maxSpawns;
  }

  /** The tools of the supervisor's model. */
  tools(): (Tool | DelegateTool)[] {
    const delegate = this.handOff(
      "delegate",
      "Gives a task to a worker and returns its answer.",
      { worker: WORKER, task: TASK },
      ({ worker, task }) => this.leaf(this.roleOf(worker), task),
    );
    const forward: Tool = {
      name: FORWARD,
      description: "Returns a worker's last answer, unchanged, as the final answer.",
      input: textSchema({ worker: WORKER }),
      idempotent: true,
      // Never called: `before` handles the call, and the loop ends.
      execute: () => "",
    };
    if (this.spawn === undefined) return [delegate, forward];
    return [delegate, forward, this.spawnTool(this.spawn)];
  }

  /** Inspects a call before it is made. A returned text refuses the call; a forwarded answer ends the run. */
  before(call: ToolCall): string | Finish | undefined {
    if (call.name !== FORWARD) return undefined;
    const role = readChoice(workerIn(call), [...this.members.keys()]);
    const answer = role === undefined ? undefined : this.answers.get(role);
    if (answer === undefined) return `that worker has not answered yet; the workers are ${this.names()}`;
    this.forwarded = answer;
    const { text: output, stopReason, problem } = answer;
    const status = stopReason === "done" ? "completed" : "partial";
    return { finish: { status, output, stopReason, problem } };
  }

  /** Stores the answer of each worker. A worker that found no slot is hired once more. */
  async afterHires(hires: readonly Hired[]): Promise<readonly ToolResult[]> {
    const outcomes = await hireAgain(this.deps, hires);
    return outcomes.map((outcome, at) => {
      const leaf = hires[at]?.leaf;
      const role = leaf === undefined ? undefined : this.roles.get(leaf);
      const worked = outcomeOf(outcome);
      // An empty answer cannot be forwarded.
      if (role !== undefined && worked.error === undefined && worked.text.trim() !== "") {
        this.answers.set(role, worked);
        this.all.push(`[${role}] ${describeWork(worked)}`);
      }
      return hireResult(outcome, role);
    });
  }

  /** What the team has found so far, as text. */
  found(): string {
    return this.all.join("\n");
  }

  private spawnTool(spawn: SpawnWorker): DelegateTool {
    const fields = {
      name: "A new name for the worker.",
      instructions: "What the worker is and how it should work.",
      task: TASK,
    };
    return this.handOff(
      "spawn",
      "Creates a new worker and gives it a task.",
      fields,
      ({ name, instructions, task }) => {
        const role = name
          .trim()
          .replaceAll(/[^\p{L}\p{N}_-]+/gu, "-")
          .slice(0, 48);
        if (role === "" || this.members.has(role))
          refuse("name", name, `a new name; these are taken: ${this.names()}`);
        if (this.spawnsLeft === 0)
          refuse(
            "spawn",
            name,
            "no more workers: the maximum number has been created; delegate to an existing one",
          );
        const agent = spawn({ name: role, instructions });
        checkAgent("Supervisor.spawn(wanted)", agent);
        this.spawnsLeft--;
        this.members.set(role, agent);
        return this.leaf(role, task);
      },
    );
  }

  private handOff<K extends string>(
    name: string,
    description: string,
    fields: Readonly<Record<K, string>>,
    hire: (args: Readonly<Record<K, string>>) => HireLeaf,
  ): DelegateTool {
    const input: StandardSchema<Readonly<Record<K, string>>> = textSchema(fields);
    // The loop has checked the arguments against `input`.
    return {
      kind: "delegate",
      name,
      description,
      input,
      hire: (args) => hire(args as Readonly<Record<K, string>>),
    };
  }

  private roleOf(worker: string): string {
    return readChoice(worker, [...this.members.keys()]) ?? refuse("worker", worker, `one of ${this.names()}`);
  }

  private leaf(role: string, input: string): HireLeaf {
    const agent = this.members.get(role) ?? refuse("worker", role, `one of ${this.names()}`);
    // Not by the tool's "inherit", which makes another leaf of it: outcomes are found by this one.
    const leaf: HireLeaf = { kind: "hire", agent, input, attachments: this.deps.inbox?.attachments };
    this.roles.set(leaf, role);
    return leaf;
  }

  private names(): string {
    return [...this.members.keys()].join(", ");
  }
}

function workerIn(call: ToolCall): string {
  try {
    const args = parseJson(call.arguments, "arguments");
    const worker: unknown = typeof args === "object" && args !== null ? Reflect.get(args, "worker") : args;
    return typeof worker === "string" ? worker : "";
  } catch {
    return call.arguments;
  }
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
