import type { CallPlan, LeafPlan, Life, Plan, Step, ToolPlan } from "./plan.ts";

const call: CallPlan = { way: "answers", streams: false, wrapUp: false, odd: 0 };
const llm: LeafPlan = { do: "llm", call };
const terms = { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" } as const;

/** Lives that once went wrong. */
export const KNOWN: Readonly<Record<string, Plan>> = {
  "a deaf tool that its suspended run begins after its agent has stopped leaves no reservation": plan({
    root: life(
      spawn(spawn({ do: "receive", after: "reply" })),
      {
        do: "batch",
        leaves: [
          {
            do: "hire",
            life: life({ do: "receive", after: "reply" }, { do: "batch", leaves: [tool("deaf"), llm] }),
            terms,
          },
          llm,
          tool("value", { needsApproval: true }),
        ],
      },
      { do: "wait", name: "w0" },
      { do: "beside", call },
    ),
    lives: [
      [{ at: 2, when: "now", deed: "crash", n: 0 }],
      [{ at: 13, when: "now", deed: "close", n: 0 }],
      [],
    ],
    answers: [1],
  }),
  "the seat of a child is free when its end is on record: a spawn that got it is not denied after a crash":
    plan({
      root: life(
        spawn({ do: "record", way: "value" }, spawn(tool("value"))),
        { do: "record", way: "promise" },
        spawn({ do: "receive", after: "reply" }),
        { do: "draft" },
        { do: "receive", after: "reply" },
        { do: "throw", times: 0 },
      ),
      lives: [[{ at: 7, when: "turn", deed: "crash", n: 0 }], []],
    }),
  "an agent of an attempt that is over is not told what a call came to that the next attempt makes again":
    plan({
      root: life(
        { do: "receive", after: "nack" },
        spawn(tool("asksTwice", { idempotent: true }), { do: "batch", leaves: [tool("value")] }),
        { do: "receive", after: "none" },
        { do: "throw", times: 1 },
        { do: "wait", name: "w0" },
      ),
      isRestarted: true,
      lives: [[]],
    }),
  "a spawn that got the seat of somebody who has failed is not denied when the run is retried, and both go on":
    plan({
      root: failing(
        {
          do: "batch",
          leaves: [
            {
              do: "hire",
              life: failing({ do: "wait", name: "w0" }, spawn({ do: "sleep", s: 0 }), { do: "facts" }),
              terms,
            },
            { do: "hire", life: failing(spawn(llm)), terms },
          ],
        },
        { do: "join", which: 0 },
      ),
      maxAgents: 3,
      lives: [[]],
      retries: 1,
    }),
  "a call that was withdrawn while its run is restarted is not charged": plan({
    root: {
      ...life(
        spawn(tool("value"), { do: "beside", call }, { do: "receive", after: "reply" }),
        { do: "record", way: "throws" },
        llm,
        { do: "receive", after: "reply" },
      ),
      catches: false,
    },
    isRestarted: true,
    isRetried: true,
    lives: [[], [{ at: 3, when: "turn", deed: "cancel", n: 0 }]],
    retries: 1,
  }),
  "a journal that answers each append of a crashed attempt in time is not given up": plan({
    root: {
      ...life(
        { do: "sleep", s: 100 },
        spawn(tool("asksTwice"), spawn(llm)),
        spawn({ do: "receive", after: "reply" }),
      ),
      end: "throw",
    },
    maxAgents: 3,
    isRestarted: true,
    lives: [[]],
  }),
  "nothing is recorded after the end of a run, by a tool that ends while the end is on its way to the disk":
    plan({
      root: life(
        { do: "batch", leaves: [tool("value"), { do: "hire", life: life(spawn({ do: "facts" })), terms }] },
        { do: "sleep", s: 0 },
        { do: "wait", name: "w0" },
        { do: "facts" },
        tool("asks"),
        { do: "hire", life: life({ do: "sleep", s: 0 }), terms },
      ),
      maxAgents: 1,
      lives: [
        [
          { at: 0, when: "now", deed: "deliverTwice", n: 0 },
          { at: 13, when: "now", deed: "cancel", n: 0 },
        ],
        [],
      ],
    }),
};

function plan(more: Pick<Plan, "root" | "lives"> & Partial<Plan>): Plan {
  return {
    maxAgents: 2,
    limits: {},
    journal: "async",
    isRestarted: false,
    isRetried: false,
    isObserved: false,
    decisions: ["retry"],
    answers: [0],
    laterMs: 0,
    ...more,
  };
}

function life(...steps: readonly Step[]): Life {
  return { steps, end: "done", catches: true, asksForMore: false };
}

function failing(...steps: readonly Step[]): Life {
  return { ...life(...steps), end: "garbage" };
}

function spawn(...steps: readonly Step[]): Step {
  return { do: "spawn", life: life(...steps), terms };
}

function tool(way: ToolPlan["way"], more: Partial<ToolPlan> = {}): LeafPlan {
  return {
    do: "tool",
    tool: { way, idempotent: false, needsApproval: false, isMisread: false, call, ...more },
  };
}
