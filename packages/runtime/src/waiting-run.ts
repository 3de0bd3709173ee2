import { AsyncLocalStorage } from "node:async_hooks";
import { type Agent, AgentId, type Inbox, type LLMClient, type Tool } from "@ravi/kernel";
import { keepLoopShapes, keepShapes, planLoop } from "@ravi/kernel/loop";
import { ChatCall } from "./context/chat-call.ts";
import { Execution } from "./context/execution.ts";
import { FunctionCall } from "./context/function-call.ts";
import { AgentCall } from "./context/level-call.ts";
import { ModelEffect } from "./context/model-effect.ts";
import { Attempt } from "./context/money/attempt.ts";
import { Bill } from "./context/money/bill.ts";
import { ToolEffect } from "./context/tool-effect.ts";
import { InProcessScope } from "./engine/effect-scope.ts";
import { InProcessEngine } from "./engine/in-process.ts";
import { Seat } from "./engine/seat.ts";
import { Identities } from "./journal/identities.ts";
import { wallClock } from "./wall-clock.ts";

// A run that waits for ever. While it is there, an object of each class that runs are made of is alive, and V8 keeps the code that was
// compiled for them: see `keepShapes`.

/** Calls a function outside of the run that happens to end now: what its async context holds would be kept for ever. */
export const outside = AsyncLocalStorage.snapshot();

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
