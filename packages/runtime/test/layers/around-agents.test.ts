import { expect, test } from "vitest";
import { type Agent, AgentId, type AgentRunContext, type Pipeline } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { agent, done } from "../support/helpers.ts";

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
