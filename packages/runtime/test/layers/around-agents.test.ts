import { expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  MiddlewareTermination,
  type Pipeline,
  type RestartPolicy,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done, turns } from "../support/helpers.ts";

test("R12: a child whose layer answers for it can be spawned and joined like any other", async () => {
  const answers: Pipeline<AgentRunContext> = {
    isNoop: false,
    async admit(context) {
      context.result = done("from the layer");
    },
    run: async (_, core) => core(),
  };
  const child: Agent = {
    id: AgentId("child"),
    pipelines: { agent: answers },
    run: async () => done("never"),
  };
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.join(await ctx.spawn(child, { input: "" }));
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  expect(await new Runtime().run(lead, "").result).toMatchObject({
    status: "completed",
    output: "from the layer",
  });
});

test("J5: a layer around an agent sees for whom it works before it begins, and then the same", async () => {
  const seen: unknown[] = [];
  const look = ({ scope }: AgentRunContext): void => {
    seen.push([scope?.userId, scope?.sessionId, scope?.metadata["desk"]]);
  };
  const layer: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit: look,
    run(context, core) {
      look(context);
      return core();
    },
  };
  const last = agent("last", async () => done(""));
  const helper = agent("helper", async (ctx) => done((await ctx.hire({ agent: last, input: "" })).status));
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: helper, input: "" })).status));
  const runtime = new Runtime({ pipelines: { agent: layer } });
  const options = { userId: "alice", sessionId: "s", metadata: { desk: 7 } };
  expect((await runtime.run(lead, "", options).result).status).toBe("completed");
  const [atDesk, ofHelper, ofLast] = [
    ["alice", "s", 7],
    ["alice", "s/helper/1", 7],
    ["alice", "s/last/1.1", 7],
  ];
  expect(seen).toEqual([atDesk, atDesk, ofHelper, ofHelper, ofLast, ofLast]);
});

test("R12: a layer around an agent is told whether it has begun before", async () => {
  const seen: unknown[] = [];
  const layer: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit() {},
    run({ agentName, isResumed }, core) {
      seen.push([agentName, isResumed]);
      return core();
    },
  };
  const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("go"))));
  const next = agent("next", async () => done("next"));
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: waits, input: "" });
    return done((await ctx.hire({ agent: next, input: "" })).status);
  });
  const ports = { journal: new MemoryJournal(), pipelines: { agent: layer }, agents: [lead] };
  const first = new Runtime(ports);
  first.run(lead, "", { runId: "run" });
  await turns();
  await first.close();
  const second = new Runtime(ports);
  await second.deliver("run", "go", "on");
  expect(await second.resume("run").result).toMatchObject({ status: "completed", output: "completed" });
  expect(seen).toEqual([
    ["lead", false],
    ["waits", false],
    ["lead", true],
    ["waits", true],
    ["next", false],
  ]);
});

test("R12: a run that a layer has refused, or still kept waiting, is told to it as one that begins", async () => {
  const seen: unknown[] = [];
  let isOpen = false;
  const layer: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit() {},
    async run({ isResumed, input, meta }, core) {
      seen.push([input, isResumed]);
      if (!isOpen && input === "late") await meta.cancellation.wait();
      if (!isOpen) throw new MiddlewareTermination({ layer: "door", reason: "closed" });
      await core();
    },
  };
  const works = agent("works", async (ctx) => done(String(await ctx.record("fact", () => "made"))));
  const ports = { journal: new MemoryJournal(), pipelines: { agent: layer }, agents: [works] };
  const first = new Runtime(ports);
  const refused = await first.run(works, "refused", { runId: "refused" }).result;
  expect(refused).toMatchObject({ status: "failed", error: { code: "MIDDLEWARE_TERMINATION" } });
  first.run(works, "late", { runId: "late" });
  await turns();
  await first.close();
  isOpen = true;
  const second = new Runtime(ports);
  for (const id of ["refused", "late"])
    expect(await second.resume(id, { retryFailed: true }).result).toMatchObject({ output: "made" });
  expect(seen).toEqual(["refused", "late", "refused", "late"].map((input) => [input, false]));
});

test("R12: a run that is restarted after a crash is told to a layer as one that has begun, whatever it did", async () => {
  const seen: unknown[] = [];
  const layer: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit() {},
    run({ isResumed }, core) {
      seen.push(isResumed);
      return core();
    },
  };
  const fragile = agent("fragile", async () => {
    if (seen.length === 1) throw new TypeError("a bug");
    return done("at last");
  });
  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: () => 0, reset() {} };
  const runtime = new Runtime({ journal: new MemoryJournal(), pipelines: { agent: layer }, restart });
  expect(await runtime.run(fragile, "").result).toMatchObject({ output: "at last" });
  expect(seen).toEqual([false, true]);
});
