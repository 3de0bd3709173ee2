import {
  type Agent,
  AgentId,
  type JsonObject,
  type RunContext,
  type Span,
  type Telemetry,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

/** Tells of each span that has ended, and of the one that it was inside of. */
class Spans implements Telemetry {
  readonly ended: string[] = [];
  private readonly labels = new Map<Span, string>();

  startSpan(name: string, attributes: JsonObject, parent?: Span): Span {
    const { agentId } = attributes as { readonly agentId: string };
    const label = `${name} ${agentId}`;
    const inside = parent && this.labels.get(parent);
    let how = "";
    const span: Span = {
      setAttribute: (key, value) => void (key === "status" && (how = ` ${String(value)}`)),
      recordError() {},
      end: () => void this.ended.push(`${label}${how}${inside === undefined ? "" : ` in ${inside}`}`),
      run: (work) => work(),
    };
    this.labels.set(span, label);
    return span;
  }

  metric(): void {}
}

const agent = (name: string, work: (ctx: RunContext) => Promise<unknown>): Agent => ({
  id: AgentId(name),
  run: async (ctx) => {
    await work(ctx);
    return { status: "completed", output: name, stopReason: "done" };
  },
});

test("J11: on one worker, agents that were hired are inside of the one that hired them, and calls inside of their agent", async () => {
  const model = scriptedModel(() => "ok");
  const request = { messages: [{ role: "user", content: "?" }] } as const;
  const clerk = agent("clerk", (ctx) => ctx.llm(model, request));
  const leaf = { kind: "hire", agent: clerk, input: "" } as const;
  const lead = agent("lead", async (ctx) => {
    await ctx.batch([leaf, leaf]);
    await ctx.join(await ctx.spawn(clerk, { input: "" }));
  });
  const telemetry = new Spans();
  const runtime = await house(server, { telemetry }).create({ agents: [lead, clerk] });
  expect((await runtime.run(lead, "", { runId: "traced-1" }).result).status).toBe("completed");
  await runtime.close();
  expect(telemetry.ended.toSorted((a, b) => Number(a > b) - Number(a < b))).toEqual([
    "ravi.hire clerk/1 completed in ravi.run lead",
    "ravi.hire clerk/2 completed in ravi.run lead",
    "ravi.hire clerk/3 completed in ravi.run lead",
    "ravi.llm clerk/1 in ravi.hire clerk/1",
    "ravi.llm clerk/2 in ravi.hire clerk/2",
    "ravi.llm clerk/3 in ravi.hire clerk/3",
    "ravi.run lead completed",
  ]);
});
