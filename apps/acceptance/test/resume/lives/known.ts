import type { Plan } from "./plan.ts";

/** Lives that once went wrong. */
export const KNOWN: Readonly<Record<string, Plan>> = {
  "a deaf tool that its suspended run begins after its agent has stopped leaves no reservation": {
    root: {
      steps: [
        {
          do: "spawn",
          life: {
            steps: [
              {
                do: "spawn",
                life: {
                  steps: [{ do: "receive", after: "reply" }],
                  end: "done",
                  catches: true,
                  asksForMore: false,
                },
                terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
              },
            ],
            end: "done",
            catches: true,
            asksForMore: false,
          },
          terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
        },
        {
          do: "batch",
          leaves: [
            {
              do: "hire",
              life: {
                steps: [
                  { do: "receive", after: "reply" },
                  {
                    do: "batch",
                    leaves: [
                      {
                        do: "tool",
                        tool: {
                          way: "deaf",
                          idempotent: false,
                          needsApproval: false,
                          isMisread: false,
                          call: { way: "answers", streams: false, wrapUp: false, odd: 0 },
                        },
                      },
                      { do: "llm", call: { way: "answers", streams: false, wrapUp: false, odd: 0 } },
                    ],
                  },
                ],
                end: "done",
                catches: true,
                asksForMore: false,
              },
              terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
            },
            { do: "llm", call: { way: "answers", streams: false, wrapUp: false, odd: 0 } },
            {
              do: "tool",
              tool: {
                way: "value",
                idempotent: false,
                needsApproval: true,
                isMisread: false,
                call: { way: "answers", streams: false, wrapUp: false, odd: 0 },
              },
            },
          ],
        },
        { do: "wait", name: "w0" },
        { do: "beside", call: { way: "answers", streams: false, wrapUp: false, odd: 0 } },
      ],
      end: "done",
      catches: true,
      asksForMore: false,
    },
    maxAgents: 2,
    limits: {},
    journal: "async",
    isRestarted: false,
    isRetried: false,
    isObserved: false,
    lives: [
      [{ at: 2, when: "now", deed: "crash", n: 0 }],
      [{ at: 13, when: "now", deed: "close", n: 0 }],
      [],
    ],
    decisions: ["retry"],
    answers: [1],
    laterMs: 0,
  },
  "the seat of a child is free when its end is on record: a spawn that got it is not denied after a crash": {
    root: {
      steps: [
        {
          do: "spawn",
          life: {
            steps: [
              { do: "record", way: "value" },
              {
                do: "spawn",
                life: {
                  steps: [
                    {
                      do: "tool",
                      tool: {
                        way: "value",
                        idempotent: false,
                        needsApproval: false,
                        isMisread: false,
                        call: { way: "answers", streams: false, wrapUp: false, odd: 0 },
                      },
                    },
                  ],
                  end: "done",
                  catches: true,
                  asksForMore: false,
                },
                terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
              },
            ],
            end: "done",
            catches: true,
            asksForMore: false,
          },
          terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
        },
        { do: "record", way: "promise" },
        {
          do: "spawn",
          life: {
            steps: [{ do: "receive", after: "reply" }],
            end: "done",
            catches: true,
            asksForMore: false,
          },
          terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
        },
        { do: "draft" },
        { do: "receive", after: "reply" },
        { do: "throw", times: 0 },
      ],
      end: "done",
      catches: true,
      asksForMore: false,
    },
    maxAgents: 2,
    limits: {},
    journal: "async",
    isRestarted: false,
    isRetried: false,
    isObserved: false,
    lives: [[{ at: 7, when: "turn", deed: "crash", n: 0 }], []],
    decisions: ["retry"],
    answers: [0],
    laterMs: 0,
  },
  "an agent of an attempt that is over is not told what a call came to that the next attempt makes again": {
    root: {
      steps: [
        { do: "receive", after: "nack" },
        {
          do: "spawn",
          life: {
            steps: [
              {
                do: "tool",
                tool: {
                  way: "asksTwice",
                  idempotent: true,
                  needsApproval: false,
                  isMisread: false,
                  call: { way: "answers", streams: false, wrapUp: false, odd: 0 },
                },
              },
              {
                do: "batch",
                leaves: [
                  {
                    do: "tool",
                    tool: {
                      way: "value",
                      idempotent: false,
                      needsApproval: false,
                      isMisread: false,
                      call: { way: "answers", streams: false, wrapUp: false, odd: 0 },
                    },
                  },
                ],
              },
            ],
            end: "done",
            catches: true,
            asksForMore: false,
          },
          terms: { priority: 0, onFull: "deny", onPreempt: "park", onTimeout: "cancel" },
        },
        { do: "receive", after: "none" },
        { do: "throw", times: 1 },
        { do: "wait", name: "w0" },
      ],
      end: "done",
      catches: true,
      asksForMore: false,
    },
    maxAgents: 2,
    limits: {},
    journal: "async",
    isRestarted: true,
    isRetried: false,
    isObserved: false,
    lives: [[]],
    decisions: ["retry"],
    answers: [0],
    laterMs: 0,
  },
};
