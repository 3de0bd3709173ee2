import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  addUsage,
  type Agent,
  type AgentEvent,
  type Architecture,
  BudgetExhaustedError,
  type JsonObject,
  NO_USAGE,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import {
  ActorCritic,
  Blackboard,
  Debate,
  freshSession,
  PlanAndExecute,
  ReAct,
  Reflexion,
  ReWOO,
  Router,
  SelfRefine,
  StrategyAgent,
  Supervisor,
  Swarm,
  TreeOfThoughts,
} from "@ravi/architectures";
import { type Answer, type ScriptedModel, scriptedModel } from "@ravi/testing";
import { asked, EACH, lookUp, says } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 3_000 : 40;

/** Model calls of one tool loop at the most. */
const MAX_TURNS = 3;
const T = MAX_TURNS + 1;

const call = (name: string, args: JsonObject = {}): Answer => ({
  ...says(""),
  toolCalls: [{ name, arguments: args }],
});
const cut = (text: string, finishReason: "length" | "refused" | "filtered"): Answer => ({
  ...says(text),
  finishReason,
});

/** What models really do. */
const ANSWERS: readonly Answer[] = [
  ...[
    "",
    "  \n ",
    "Well, that depends.",
    '{"score": NaN}',
    '{"score": -7, "feedback": 3}',
    'Sure!\n```json\n{"score": "nine out of ten", "feedback": null}\n```',
    '{"rating": 1e309}',
    '["a", "b", "c", "d", "e"]',
    Array.from({ length: 100 }, (_, at) => `${at + 1}. step ${at + 1}`).join("\n"),
    "#E1 = LLM[#E2]\n#E2 = LLM[#E1]\n#E3 = look_up[#E4]",
    "#E1 = look_up[x]\n#E2 = LLM[what of #E1?]\n#E3 = nothing[#E1]",
    '{"steps": [{"id": "E1", "tool": "look_up", "input": {"query": "nothing"}}, {"tool": "LLM", "input": "#E1"}]}',
    "HANDOFF b: go on",
    "HANDOFF a: go on",
    "HANDOFF zoe: go on",
    "PASS",
    "SOLUTION: this",
    '{"next": "a"}',
    '{"next": "zoe", "done": "perhaps"}',
    '{"done": true}',
    '{"route": "b", "confidence": 0.9}',
    '{"route": "b", "confidence": "low"}',
    '{"satisfied": true}',
    '{"satisfied": "mostly"}',
    '{"vote": "2"}',
    "1 and 2 are equally good",
    "[".repeat(1_000),
  ].map(says),
  cut('{"score": 0.', "length"),
  cut("", "length"),
  cut("I cannot help with that.", "refused"),
  cut("", "filtered"),
  call("look_up", { query: "x" }),
  call("look_up", { query: "nothing" }),
  call("look_up", { query: 5 }),
  call("no_such_tool"),
  call("delegate", { worker: "a", task: "x" }),
  call("delegate", { worker: "zoe", task: "" }),
  call("forward_message", { worker: "a" }),
  call("spawn", { name: "!!!", instructions: "x", task: "x" }),
  call("spawn", { name: "new", instructions: "x", task: "x" }),
];

interface Case {
  make(team: Readonly<Record<"a" | "b", Agent>>): Architecture;
  /** The formula of the README, with these settings. */
  readonly most: (hires: number) => number;
}

const CASES: Readonly<Record<string, Case>> = {
  ReAct: { make: () => new ReAct(), most: () => T },
  SelfRefine: { make: () => new SelfRefine({ maxRounds: 2 }), most: () => T + 2 * 2 },
  Reflexion: { make: () => new Reflexion({ maxTries: 2 }), most: () => 2 * (T + 1) + 1 },
  TreeOfThoughts: {
    make: () => new TreeOfThoughts({ branch: 2, depth: 2, beam: 2 }),
    most: () => 1 + 1 * (1 + 2) + 2 * (1 + 2),
  },
  PlanAndExecute: { make: () => new PlanAndExecute({ maxSteps: 3 }), most: () => 2 + 3 * T },
  ReWOO: { make: () => new ReWOO({ maxSteps: 3 }), most: () => 2 + 3 },
  Router: { make: (routes) => new Router({ routes, fallback: "a" }), most: () => 1 + 2 * T },
  Supervisor: {
    make: (workers) => new Supervisor({ workers, spawn: true, maxSpawns: 1 }),
    most: (hires) => T + hires * T,
  },
  ActorCritic: { make: () => new ActorCritic({ maxRounds: 2 }), most: () => 2 * (T + 1) },
  Debate: { make: () => new Debate({ rounds: 2 }), most: () => 3 * (2 + 1) },
  Swarm: { make: (members) => new Swarm({ members, maxHandoffs: 2 }), most: () => (2 + 2) * T },
  Blackboard: {
    make: (experts) => new Blackboard({ experts, coordinator: true, maxRounds: 3 }),
    most: () => 3 * (1 + T) + 1,
  },
};

interface Plan {
  readonly answers: readonly number[];
  /** After so many calls the money is gone. */
  readonly money: number;
}

const plans: fc.Arbitrary<Plan> = fc.record({
  answers: fc.array(fc.nat(ANSWERS.length - 1), { minLength: 1, maxLength: 12 }),
  money: fc.oneof(fc.constant(Infinity), fc.nat(12)),
});

function modelOf({ answers, money }: Plan): ScriptedModel & { readonly paid: () => number } {
  let paid = 0;
  const model = scriptedModel((request, at) => {
    // Last turns have money of their own, that was held back for them.
    const isLast = asked(request).includes("Do not call tools. Give your best final answer now");
    if (paid >= money && !isLast)
      throw new BudgetExhaustedError({ dimension: "turns", used: paid, limit: money, scope: "all" });
    paid++;
    return isLast ? says("landed") : (ANSWERS[answers[at % answers.length] ?? 0] ?? "");
  });
  return Object.assign(model, { paid: () => paid });
}

test.each(Object.entries(CASES))(
  "J10: whatever a model does, %s ends, within its calls, counts each once, and calls nothing an answer that is none",
  async (_, { make, most }) => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const model = modelOf(plan);
        const loop = { model, maxTurns: MAX_TURNS } as const;
        const member = (name: string): Agent =>
          new StrategyAgent({ ...loop, name, architecture: new ReAct() });
        const architecture = make({ a: member("a"), b: member("b") });
        const agent = new StrategyAgent({ ...loop, name: "thinker", tools: [lookUp], architecture });
        const events: AgentEvent[] = [];
        const ctx = bareContext({ onEvent: ({ event }) => events.push(event) });
        const session = freshSession({ id: "s" });
        const { status, output, stopReason } = await agent.continue(session, ctx, ctx.inbox("the task"));
        const hires = events.filter(({ type }) => type === "handoff").length;
        // A model that is out of money answers last turns alone: one for whoever was at work, and one for the run.
        expect(model.paid()).toBeLessThanOrEqual(most(hires) + (plan.money === Infinity ? 0 : 2));
        let used = NO_USAGE;
        for (let n = 0; n < model.paid(); n++) used = addUsage(used, EACH);
        expect(session.cumulativeUsage).toEqual(used);
        if (status === "completed")
          expect({ output: output.trim() !== "", stopReason }).toEqual({ output: true, stopReason: "done" });
        else expect(stopReason).not.toBe("done");
        // Somebody was refused a call: then it is told, and there is something all the same.
        if (model.calls.length > model.paid())
          expect({ status, hasAnswer: output.trim() !== "" }).toEqual({ status: "partial", hasAnswer: true });
      }),
      { numRuns: RUNS },
    );
  },
);
