import type { Agent, AnyRaviError } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { AGENT_OPTIONS } from "../src/agents/agent.ts";
import { TEAM_OPTIONS } from "../src/agents/team.ts";
import type { RESUME_OPTIONS, RUN_OPTIONS } from "../src/run/options.ts";
import {
  type ResumeOptions,
  type RunOptions,
  type SdkHandle,
  type SdkResult,
  agent,
  type AgentOptions,
  estimate,
  resume,
  run,
  start,
  startResume,
  team,
  type TeamOptions,
  tool,
} from "@ravi/sdk";

const answer = z.object({ people: z.number() });

test("the type of `output` is the type of the result", async () => {
  const model = () => scriptedModel(['{"people":7}']);
  const counter = agent({ name: "counter", model: model(), output: answer });
  expectTypeOf(counter).toExtend<Agent<{ people: number }>>();
  const result = await run(counter, "How many?");
  expectTypeOf(result.structured).toEqualTypeOf<{ people: number } | undefined>();
  expectTypeOf(result.unwrap().structured).toEqualTypeOf<{ people: number }>();
  expectTypeOf(start(agent({ name: "counter", model: model(), output: answer }), "?").result)
    .resolves.toHaveProperty("structured")
    .toEqualTypeOf<{ people: number } | undefined>();
  expectTypeOf(resume<{ people: number }>).returns.resolves.toHaveProperty("structured");
  expect(result.unwrap().structured.people).toBe(7);
});

test("a run that failed, was cancelled or is suspended has an error, and a completed one has none", async () => {
  const failed = await run(agent({ name: "broken", model: scriptedModel([new Error("no")]) }), "Hi", {
    retry: false,
  });
  if (failed.status === "completed") expectTypeOf(failed.error).toEqualTypeOf<undefined>();
  if (failed.status === "partial") expectTypeOf(failed.error).toEqualTypeOf<AnyRaviError | undefined>();
  if (failed.status === "cancelled" || failed.status === "suspended")
    expectTypeOf(failed.error).toEqualTypeOf<AnyRaviError>();
  expect(failed.status === "failed" && failed.error.message).toBe("broken failed: no");
});

test("without `output` the shape is not known", async () => {
  const result = await run(agent({ name: "plain", model: scriptedModel(["Hi."]) }), "Hi");
  expectTypeOf(result.structured).toBeUnknown();
  expectTypeOf(result.output).toBeString();
  expect(result.output).toBe("Hi.");
});

test("a function for any schema makes agents and teams of its type", async () => {
  const extract = async <T>(output: z.ZodType<T>): Promise<T> => {
    const model = scriptedModel(['{"people":7}', '{"people":8}']);
    const reader = agent({ name: "reader", model, output });
    await run(reader, "How many?");
    const lead = team({ name: "lead", model, output, members: [reader] });
    return (await run(lead, "And now?")).unwrap().structured;
  };
  const found = await extract(answer);
  expectTypeOf(found).toEqualTypeOf<{ people: number }>();
  expect(found.people).toBe(8);

  const readerFor = <S extends z.ZodType>(output: S) =>
    agent({ name: "reader", model: scriptedModel([]), output });
  expectTypeOf(readerFor(answer)).toExtend<Agent<{ people: number }>>();
});

test("an agent of a known type has the schema for it", () => {
  type Count = z.infer<typeof answer>;
  const model = scriptedModel(["x"]);
  const members = [agent({ name: "member", model })];
  expectTypeOf(agent<Count>({ name: "counter", model, output: answer })).toExtend<Agent<Count>>();
  // @ts-expect-error -- without `output` nothing checks that it is a `Count`
  const unread = agent<Count>({ name: "counter", model });
  // @ts-expect-error -- nor if the type comes from where it is used
  const used: Agent<Count> = agent({ name: "counter", model });
  // @ts-expect-error -- nor in a team
  const lead = team<Count>({ name: "lead", model, members });
  expect([unread.id, used.id, lead.id]).toEqual(["counter", "counter", "lead"]);
});

test("a team's output, a tool's arguments and an estimate have their types", () => {
  const member = agent({ name: "member", model: scriptedModel(["x"]) });
  const lead = team({ name: "lead", model: scriptedModel(["x"]), members: [member], output: answer });
  expectTypeOf(lead).toExtend<Agent<{ people: number }>>();
  const greet = tool({
    name: "greet",
    description: "Greets.",
    input: z.object({ name: z.string() }),
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ name: string }>();
      return args.name.length;
    },
  });
  expectTypeOf(greet.execute).returns.toExtend<number | PromiseLike<number>>();
  expectTypeOf(estimate(lead, "x")).resolves.toHaveProperty("usd").toEqualTypeOf<number | null>();
  expect(greet.name).toBe("greet");
});

test("every option of an agent and of a team is known to the check for misspelt ones", () => {
  expectTypeOf<Exclude<keyof AgentOptions, (typeof AGENT_OPTIONS)[number]>>().toBeNever();
  expectTypeOf<Exclude<keyof TeamOptions, (typeof TEAM_OPTIONS)[number]>>().toBeNever();
  expectTypeOf<Exclude<keyof RunOptions, (typeof RUN_OPTIONS)[number]>>().toBeNever();
  expectTypeOf<Exclude<keyof ResumeOptions, (typeof RESUME_OPTIONS)[number]>>().toBeNever();
  expect(new Set(TEAM_OPTIONS).size).toBe(TEAM_OPTIONS.length);
});

test("options are typed: a limit has a number, a member is an agent", () => {
  expectTypeOf<AgentOptions["model"]>().toEqualTypeOf<AgentOptions["model"]>();
  expectTypeOf<Parameters<typeof run>[2]>().not.toBeAny();
  expectTypeOf<NonNullable<TeamOptions["members"]>[number]>().toExtend<object>();
  // @ts-expect-error a limit in words is no limit
  void (() => run(agent({ name: "a", model: "openai:x" }), "Hi", { budget: { usd: "2" } }));
  expect(() => agent({ name: "a", model: "openai:x" })).not.toThrow();
});

test("a choice between agents whose answers differ gives one of those answers", async () => {
  const counter = agent({ name: "counter", model: scriptedModel(['{"people":7}']), output: answer });
  const other = agent({
    name: "other",
    model: scriptedModel(['{"isOpen":true}']),
    output: z.object({ isOpen: z.boolean() }),
  });
  const chosen = [counter, other][1] ?? counter;
  const result = await run(chosen, "Which?");
  expectTypeOf(result.structured).toEqualTypeOf<{ people: number } | { isOpen: boolean } | undefined>();
  const going = () => start(chosen, "Which?").result;
  expectTypeOf(going)
    .returns.resolves.toHaveProperty("structured")
    .toEqualTypeOf<{ people: number } | { isOpen: boolean } | undefined>();
  expect(result.unwrap().structured).toEqual({ isOpen: true });
});

test("`status` says what else is known of a result, and an error's code what it tells", async () => {
  const model = scriptedModel(["x", "x", "x"]);
  const result = await run(agent({ name: "a", model, output: answer }), "?");
  if (result.status === "completed") {
    expectTypeOf(result.structured).toEqualTypeOf<{ people: number }>();
    expectTypeOf(result.error).toEqualTypeOf<undefined>();
  } else if (result.error !== undefined) {
    const { error } = result;
    if (error.code === "BUDGET_EXHAUSTED") expectTypeOf(error.limit).toBeNumber();
    if (error.code === "PROVIDER_ERROR") expectTypeOf(error.status).toEqualTypeOf<number | undefined>();
  }
  expect(result.status).toBe("partial");
});

test("a run that is resumed with several agents has the result of one of them", () => {
  type Open = { isOpen: boolean };
  type People = { people: number };
  const one = () => scriptedModel(["x"]);
  const counter = agent({ name: "counter", model: one(), output: answer });
  const other = agent({ name: "other", model: one(), output: z.object({ isOpen: z.boolean() }) });
  const lead = team({ name: "lead", model: one(), members: [counter], output: z.string() });
  const plain = agent({ name: "plain", model: one() });
  const own: Agent<Open> = { id: other.id, run: (ctx, inbox) => other.run(ctx, inbox) };
  const from = <T>(agents: readonly Agent<T>[]) => resume("r", { agents, journal: "j" });

  const alone = () => resume("r", { agents: counter, journal: "j" });
  expectTypeOf(alone).returns.resolves.toEqualTypeOf<SdkResult<People>>();
  const same = () => resume("r", { agents: [counter, counter], journal: "j" });
  expectTypeOf(same).returns.resolves.toEqualTypeOf<SdkResult<People>>();
  const either = () => resume("r", { agents: [counter, other], journal: "j", decisions: { key: "retry" } });
  expectTypeOf(either).returns.resolves.toEqualTypeOf<SdkResult<People | Open>>();
  const three = () => resume("r", { agents: [counter, lead, own], journal: "j" });
  expectTypeOf(three).returns.resolves.toEqualTypeOf<SdkResult<People | string | Open>>();
  const known = () => resume("r", { agents: [counter, other] as const, journal: "j" });
  expectTypeOf(known).returns.resolves.toEqualTypeOf<SdkResult<People | Open>>();
  const chosen = () => resume("r", { agents: Math.random() < 1 ? counter : other, journal: "j" });
  expectTypeOf(chosen).returns.resolves.toEqualTypeOf<SdkResult<People | Open>>();
  const going = () => startResume("r", { agents: [counter, other], journal: "j" });
  expectTypeOf(going).returns.toEqualTypeOf<SdkHandle<People | Open>>();
  const handedOn = () => from([counter, counter]);
  expectTypeOf(handedOn).returns.resolves.toEqualTypeOf<SdkResult<People>>();
  const named = () => resume<People | Open>("r", { agents: [counter, other], journal: "j" });
  expectTypeOf(named).returns.resolves.toEqualTypeOf<SdkResult<People | Open>>();
  // One without `output` may have any result.
  const any = () => resume("r", { agents: [counter, plain], journal: "j" });
  expectTypeOf(any).returns.resolves.toEqualTypeOf<SdkResult>();
  const list = () => resume("r", { agents: [counter, other] as Agent[], journal: "j" });
  expectTypeOf(list).returns.resolves.toEqualTypeOf<SdkResult>();
  const options: ResumeOptions = { agents: [counter, other], journal: "j" };
  expectTypeOf(() => resume("r", options)).returns.resolves.toEqualTypeOf<SdkResult>();
  // @ts-expect-error a journal is needed
  expect(() => startResume("r", { agents: [counter, other] })).toThrow("resume options.journal");
  // @ts-expect-error a misspelt option
  expect(() => startResume("r", { agents: [counter, other], journal: "j", decision: {} })).toThrow(
    "decision",
  );
});

test("a function of any agent keeps the type of its agent's answer", () => {
  const counter = agent({ name: "counter", model: scriptedModel(["x"]), output: answer });
  const other = agent({ name: "other", model: scriptedModel(["x"]), output: z.string() });
  const agents = { counter, other };
  const ask = <A extends Agent>(asked: A) => run(asked, "?");
  const going = <A extends Agent>(asked: A) => start(asked, "?");
  const again = <A extends Agent>(asked: A) => resume("r", { agents: [asked], journal: "j" });
  const byName = <N extends keyof typeof agents>(name: N) => run(agents[name], "?");
  const structured = async <T>(asked: Agent<T>): Promise<T> => (await run(asked, "?")).unwrap().structured;
  expectTypeOf(() => ask(counter)).returns.resolves.toEqualTypeOf<SdkResult<{ people: number }>>();
  expectTypeOf(() => going(counter)).returns.toEqualTypeOf<SdkHandle<{ people: number }>>();
  expectTypeOf(() => again(counter)).returns.resolves.toEqualTypeOf<SdkResult<{ people: number }>>();
  expectTypeOf(() => byName("other")).returns.resolves.toEqualTypeOf<SdkResult<string>>();
  expectTypeOf(() => structured(counter)).returns.resolves.toEqualTypeOf<{ people: number }>();
  expectTypeOf<ReturnType<typeof run<string>>>().toEqualTypeOf<Promise<SdkResult<string>>>();
  expectTypeOf(() => run<string>(other, "?")).returns.resolves.toEqualTypeOf<SdkResult<string>>();
  // @ts-expect-error its answer has another type
  expectTypeOf(() => run<string>(counter, "?")).returns.resolves.toExtend<SdkResult>();
});

test("the types of handles and results can be named by the functions that return them", () => {
  expectTypeOf<ReturnType<typeof start>>().toEqualTypeOf<SdkHandle>();
  expectTypeOf<ReturnType<typeof startResume>>().toEqualTypeOf<SdkHandle>();
  expectTypeOf<ReturnType<typeof run>>().toEqualTypeOf<Promise<SdkResult>>();
  expectTypeOf<ReturnType<typeof resume>>().toEqualTypeOf<Promise<SdkResult>>();
});
