import {
  type Agent,
  AgentId,
  type Inbox,
  type LLMClient,
  NO_HOOKS,
  type RootHandle,
  type Tool,
} from "@ravi/kernel";
import { keepLoopShapes, keepShapes, messageOf, planLoop, tellLog } from "@ravi/kernel/loop";
import { ChatCall } from "../context/chat-call.ts";
import { Execution } from "../context/execution.ts";
import { FunctionCall } from "../context/function-call.ts";
import { AgentCall } from "../context/level-call.ts";
import { ModelEffect } from "../context/model-effect.ts";
import { asItIs, Attempt } from "../context/money/attempt.ts";
import { Bill } from "../context/money/bill.ts";
import { ToolEffect } from "../context/tool-effect.ts";
import { InProcessScope } from "../engine/effect-scope.ts";
import { InProcessEngine } from "../engine/in-process.ts";
import { Seat } from "../engine/seat.ts";
import { Identities } from "../journal/entries/identities.ts";
import { MemoryJournal } from "../journal/memory-journal.ts";
import type { Ports, RuntimePorts } from "../ports.ts";
import { outside } from "../scope.ts";
import { wallClock } from "../wall-clock.ts";

// A run that waits for ever. While it is there, an object of each class that runs are made of is alive, and V8 keeps the code that was
// compiled for them: see `keepShapes`.

/** Counts the runs that have ended in this process. Runs without rules are made of other objects than those with. */
export class EndedRuns {
  private static readonly bare = new EndedRuns();
  private static readonly governed = new EndedRuns();
  private runs = 0;

  static of(ports: Ports): EndedRuns {
    return isBare(ports) ? EndedRuns.bare : EndedRuns.governed;
  }

  /**
   * Returns true once, when it is time for a waiting run: after the second run. A process that makes a single one has nothing to gain, and
   * later it would disturb code that is compiled by then.
   */
  count(): boolean {
    return ++this.runs === 2;
  }
}

/** Whether there is nothing that changes how a run is made. */
function isBare(ports: Ports): boolean {
  const { journal, headcount, ledger, limiter, hooks, pipelines } = ports;
  const { history, compaction, permissions, telemetry, auditLog } = ports;
  const rules = journal ?? headcount ?? ledger ?? limiter ?? pipelines;
  return (rules ?? history ?? compaction ?? permissions ?? telemetry ?? auditLog ?? hooks) === NO_HOOKS;
}

/**
 * Starts a waiting run in a runtime that is like the one with these ports. `start` creates the runtime: its module imports this one.
 */
export function keepWaitingRun(ports: Ports, start: (options: RuntimePorts) => RootHandle): void {
  const options = isBare(ports) ? {} : { journal: new MemoryJournal() };
  const keep = async (): Promise<void> => {
    const handle = start(options);
    keepShapes(handle);
    await handle.result;
  };
  // All of it outside, also the handler of a failure: what waits for a promise holds the context in which it began to wait.
  outside(
    () =>
      void keep().catch((error: unknown) =>
        tellLog(ports.logger, "warn", FAILED, { error: messageOf(error) }),
      ),
  );
}

const FAILED = "the waiting run could not be started";

const NEVER = new Promise<never>(() => {});

const model: LLMClient = { id: "", info: { provider: "", model: "" }, generate: () => NEVER };
const tool: Tool = { name: "wait", description: "", input: {}, execute: () => NEVER };
const call = { id: "", name: tool.name, arguments: "" };

const worker: Agent = { id: AgentId("waiting-worker"), run: () => NEVER };

/** The agent of that run. It waits for an agent that it has hired, and has everything that it would need to call models and tools. */
export const waitingAgent: Agent = {
  id: AgentId("waiting-lead"),
  async run(ctx, inbox) {
    if (ctx instanceof Execution) keepParts(ctx, inbox);
    await ctx.hire({ agent: worker, input: "" });
    return NEVER;
  },
};

/** Created here and not by making calls: compiled code would no longer rely on one model and one tool if these were called too. */
function keepParts(exec: Execution, inbox: Inbox): void {
  const request = { messages: [] };
  const chat = new ModelEffect(exec, "", { kind: "llm", model, request });
  chat.fingerprint();
  const made = new ToolEffect(exec, "", { call, tool });
  keepShapes(chat, made, new AgentCall(exec, ""), new ChatCall(exec, chat), new FunctionCall(exec, made, {}));
  keepLoopShapes(planLoop("waiting agent", { name: "waiting", model }), exec, inbox);
  if (exec.engine instanceof InProcessEngine) {
    exec.engine.tree.journal?.stopHeartbeat();
    const scope = new InProcessScope(exec.engine, "", 1);
    const attempt = new Attempt({
      exec,
      model,
      request,
      signal: undefined,
      idempotencyKey: "",
      wrapUp: false,
      bill: new Bill(),
      scope,
      isNested: false,
      sink: undefined,
      accept: asItIs,
      knownEstimate: undefined,
      recordedEstimate: undefined,
    });
    keepShapes(attempt, new Seat(exec.engine, { isPaused: () => false, whenResumed: () => NEVER }));
  }
  const identities = new Identities();
  identities.add("", "", 1, "begin");
  const timer = wallClock.setTimer(() => {}, 1);
  timer.cancel();
  keepShapes(exec.meta, exec.signal, identities, timer);
}
