import fc from "fast-check";
import { Priority } from "@ravi/kernel";

// What a random life is made of: a program for each agent, what happens around it, and what is done to it from outside.

/** How a model answers a call. */
const WAYS = [
  ...(["answers", "answers", "answers", "answers", "slow", "costly", "unbilled"] as const),
  ...(["refuses", "busy", "down", "cut", "hangs", "deaf", "throws", "garbled"] as const),
];
export interface CallPlan {
  readonly way: (typeof WAYS)[number];
  readonly streams: boolean;
  readonly wrapUp: boolean;
  /** Which of several odd values it throws or answers. */
  readonly odd: number;
}

const TOOL_WAYS = [
  ...(["value", "value", "promise", "slow", "throws", "odd", "hangs", "deaf", "asks", "asksTwice"] as const),
  ...(["nothing", "map"] as const),
];
export interface ToolPlan {
  readonly way: (typeof TOOL_WAYS)[number];
  readonly idempotent: boolean;
  readonly needsApproval: boolean;
  readonly timeoutS?: number | undefined;
  readonly isMisread: boolean;
  readonly call: CallPlan;
}

interface Terms {
  readonly priority: Priority;
  readonly onFull: "deny" | "queue";
  readonly onPreempt: "park" | "return";
  readonly onTimeout: "cancel" | "leave";
  readonly timeoutS?: number | undefined;
  readonly executionBudget?:
    | { readonly deadlineS?: number; readonly maxTurns?: number; readonly maxTokens?: number }
    | undefined;
}

export type LeafPlan =
  | { readonly do: "llm"; readonly call: CallPlan }
  | { readonly do: "tool"; readonly tool: ToolPlan }
  | { readonly do: "hire"; readonly life: Life; readonly terms: Terms };

export type Step =
  | LeafPlan
  | { readonly do: "batch"; readonly leaves: readonly LeafPlan[] }
  | { readonly do: "spawn"; readonly life: Life; readonly terms: Terms }
  | { readonly do: "join" | "dismiss" | "ask"; readonly which: number }
  | { readonly do: "receive"; readonly after: "reply" | "nack" | "none" }
  | { readonly do: "wait"; readonly name: string }
  | { readonly do: "sleep"; readonly s: number }
  | { readonly do: "record"; readonly way: "value" | "promise" | "throws" | "bad" }
  | { readonly do: "throw"; readonly times: number }
  | { readonly do: "beside" | "unawaited"; readonly call: CallPlan }
  | { readonly do: "facts" | "take" | "remember" | "emit" | "check" | "draft" };

export interface Life {
  readonly steps: readonly Step[];
  readonly end: "done" | "partial" | "throw" | "garbage";
  /** Whether it goes on after a step that failed. */
  readonly catches: boolean;
  readonly asksForMore: boolean;
  /** Whether a failure of somebody that it has hired is its own. */
  readonly isStrict?: boolean | undefined;
}

const DEEDS = [
  ...([
    "cancel",
    "handle",
    "abort",
    "close",
    "grace",
    "drain",
    "crash",
    "crash",
    "crash",
    "list",
    "events",
  ] as const),
  ...(["deliver", "deliver", "deliverTwice", "mustExist", "send", "sendTo", "grant"] as const),
];
/** Something that is done from outside, when so many things have happened. */
export interface Deed {
  readonly at: number;
  readonly when: "now" | "microtask" | "turn";
  readonly deed: (typeof DEEDS)[number];
  readonly n: number;
}

export interface Plan {
  readonly root: Life;
  readonly maxAgents: number;
  readonly limits: { readonly deadlineS?: number; readonly maxTokens?: number; readonly maxTurns?: number };
  readonly journal: "none" | "sync" | "async";
  /** The append that fails. */
  readonly failAt?: number | undefined;
  readonly isRestarted: boolean;
  readonly isRetried: boolean;
  readonly permits?: number | undefined;
  readonly isObserved: boolean;
  /** What is done to each process in which the run lives. After these, nothing more is. */
  readonly lives: readonly (readonly Deed[])[];
  readonly decisions: readonly ("retry" | "skip" | "fail")[];
  readonly answers: readonly number[];
  readonly laterMs: number;
  /** For each process, after how many calls the provider is down for the rest of it. */
  readonly outages?: readonly (number | undefined)[] | undefined;
  /** How often the run is retried if it has failed. */
  readonly retries?: number | undefined;
}

const call: fc.Arbitrary<CallPlan> = fc.record({
  way: fc.constantFrom(...WAYS),
  streams: fc.boolean(),
  wrapUp: fc.constantFrom(false, false, false, true),
  odd: fc.nat(6),
});
const tool: fc.Arbitrary<ToolPlan> = fc.record({
  way: fc.constantFrom(...TOOL_WAYS),
  idempotent: fc.boolean(),
  needsApproval: fc.constantFrom(false, false, true),
  timeoutS: fc.constantFrom(undefined, undefined, 3, 30),
  isMisread: fc.constantFrom(false, false, false, true),
  call,
});
const terms: fc.Arbitrary<Terms> = fc.record({
  priority: fc.constantFrom(Priority.BACKGROUND, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL),
  onFull: fc.constantFrom("deny", "queue"),
  onPreempt: fc.constantFrom("park", "return"),
  onTimeout: fc.constantFrom("cancel", "leave"),
  timeoutS: fc.constantFrom(undefined, undefined, 5, 30),
  executionBudget: fc.constantFrom(undefined, { deadlineS: 20 }, { maxTurns: 2 }, { maxTokens: 70 }),
});

function many<T>(of: fc.Arbitrary<T>, minLength: number, maxLength: number): fc.Arbitrary<T[]> {
  return fc.array(of, { minLength, maxLength, size: "max" });
}

function lifeOf(depth: number): fc.Arbitrary<Life> {
  const life = depth === 0 ? undefined : lifeOf(depth - 1);
  const ownLeaves = [
    fc.record({ do: fc.constant("llm" as const), call }),
    fc.record({ do: fc.constant("tool" as const), tool }),
  ];
  const hires = life === undefined ? [] : [fc.record({ do: fc.constant("hire" as const), life, terms })];
  const leaf: fc.Arbitrary<LeafPlan> = fc.oneof(...ownLeaves, ...hires);
  const team: fc.Arbitrary<Step>[] =
    life === undefined
      ? []
      : [
          fc.record({ do: fc.constant("spawn" as const), life, terms }),
          fc.record({ do: fc.constantFrom("join" as const, "dismiss", "ask", "ask"), which: fc.nat(1) }),
        ];
  const step: fc.Arbitrary<Step> = fc.oneof(
    leaf,
    leaf,
    ...team,
    ...team,
    fc.record({ do: fc.constant("batch" as const), leaves: many(leaf, 1, 4) }),
    fc.record({ do: fc.constant("receive" as const), after: fc.constantFrom("reply", "nack", "none") }),
    fc.record({ do: fc.constant("wait" as const), name: fc.constantFrom("w0", "w1") }),
    fc.record({ do: fc.constant("sleep" as const), s: fc.constantFrom(0, 1, 10, 100) }),
    fc.record({
      do: fc.constant("record" as const),
      way: fc.constantFrom("value", "promise", "throws", "bad"),
    }),
    fc.record({ do: fc.constantFrom("facts" as const, "take", "remember", "emit", "check", "draft") }),
    fc.oneof(
      fc.record({ do: fc.constant("throw" as const), times: fc.nat(3) }),
      fc.record({ do: fc.constantFrom("beside" as const, "unawaited"), call }),
    ),
  );
  return fc.record({
    steps: many(step, depth === 2 ? 3 : 1, 4 + depth * 2),
    end: fc.constantFrom("done", "done", "done", "partial", "throw", "garbage"),
    catches: fc.constantFrom(true, true, false),
    asksForMore: fc.boolean(),
    isStrict: fc.boolean(),
  });
}

const deed: fc.Arbitrary<Deed> = fc.record({
  at: fc.oneof(fc.nat(8), fc.nat(25), fc.nat(80)),
  when: fc.constantFrom("now", "microtask", "turn"),
  deed: fc.constantFrom(...DEEDS),
  n: fc.nat(5),
});

/** A life in which nothing goes wrong by itself, and in which whoever fails lets those above fail too. */
function steadyLife(depth: number): fc.Arbitrary<Life> {
  const steady = { streams: fc.boolean(), wrapUp: fc.constant(false), odd: fc.nat(6) };
  const asks = fc.record({
    way: fc.constantFrom("answers" as const, "slow", "costly", "unbilled"),
    ...steady,
  });
  const works = fc.record({
    way: fc.constantFrom("value" as const, "promise", "slow"),
    idempotent: fc.boolean(),
    needsApproval: fc.constant(false),
    isMisread: fc.constant(false),
    call: fc.record({ way: fc.constant("answers" as const), ...steady }),
  });
  const hire =
    depth === 0
      ? []
      : [
          fc.record({
            do: fc.constant("hire" as const),
            life: steadyLife(depth - 1),
            terms: fc.constant(TERMS),
          }),
        ];
  const leaf: fc.Arbitrary<LeafPlan> = fc.oneof(
    fc.record({ do: fc.constant("llm" as const), call: asks }),
    fc.record({ do: fc.constant("tool" as const), tool: works }),
    ...hire,
  );
  const step: fc.Arbitrary<Step> = fc.oneof(
    leaf,
    leaf,
    fc.record({ do: fc.constant("batch" as const), leaves: many(leaf, 1, 4) }),
    fc.record({ do: fc.constantFrom("facts" as const, "remember", "emit", "check", "draft") }),
    fc.record({ do: fc.constant("sleep" as const), s: fc.constantFrom(0, 1, 10) }),
  );
  const life = {
    end: fc.constant("done" as const),
    catches: fc.constant(false),
    asksForMore: fc.constant(false),
  };
  const steps = fc.tuple(many(step, 1, 4 + depth), teamOf(depth)).map(([own, team]) => [...own, ...team]);
  return fc.record({ steps, ...life, isStrict: fc.constant(true) });
}

/** Several that are spawned and then joined. */
function teamOf(depth: number): fc.Arbitrary<readonly Step[]> {
  if (depth === 0) return fc.constant([]);
  const join = (_: unknown, which: number): Step => ({ do: "join", which });
  return many(steadyLife(depth - 1), 0, 2).map((lives) => [
    ...lives.map((life): Step => ({ do: "spawn", life, terms: TERMS })),
    ...lives.map(join),
  ]);
}

const TERMS = { priority: Priority.NORMAL, onFull: "queue", onPreempt: "park", onTimeout: "cancel" } as const;

const crash: fc.Arbitrary<Deed> = fc.record({
  at: fc.oneof(fc.nat(8), fc.nat(25), fc.nat(80)),
  when: fc.constantFrom("now", "microtask", "turn"),
  deed: fc.constant("crash"),
  n: fc.constant(0),
});

/** Nothing happens to it but outages and crashes. */
export const steadyPlan: fc.Arbitrary<Plan> = fc.record({
  root: steadyLife(2),
  maxAgents: fc.constant(100),
  limits: fc.constant({}),
  journal: fc.constantFrom("sync", "async"),
  isRestarted: fc.constant(false),
  isRetried: fc.boolean(),
  permits: fc.constantFrom(undefined, undefined, 1, 2),
  isObserved: fc.boolean(),
  lives: many(many(crash, 0, 1), 1, 4),
  decisions: fc.constant(["retry" as const]),
  answers: fc.constant([0]),
  laterMs: fc.constantFrom(0, 1_000),
  outages: many(fc.nat(12), 0, 4),
  retries: fc.constant(10),
});

const outage = fc.oneof(fc.constant(undefined), fc.constant(undefined), fc.nat(6));

export const plan: fc.Arbitrary<Plan> = fc.record({
  root: lifeOf(2),
  maxAgents: fc.integer({ min: 1, max: 6 }),
  limits: fc.constantFrom(
    {},
    {},
    { deadlineS: 60 },
    { maxTokens: 100, deadlineS: 600 },
    { maxTokens: 300, maxTurns: 4 },
  ),
  journal: fc.constantFrom("none", "sync", "sync", "async"),
  failAt: fc.oneof(fc.constant(undefined), fc.constant(undefined), fc.constant(undefined), fc.nat(40)),
  isRestarted: fc.boolean(),
  isRetried: fc.boolean(),
  permits: fc.constantFrom(undefined, undefined, 1, 2),
  isObserved: fc.boolean(),
  lives: many(many(deed, 0, 4), 1, 4),
  decisions: many(fc.constantFrom("retry", "skip", "fail"), 1, 4),
  answers: many(fc.nat(5), 1, 5),
  laterMs: fc.constantFrom(0, 0, 1_000, 100_000),
  outages: many(outage, 0, 5),
  retries: fc.nat(4),
});
