import { type Agent, AgentId, defineTool, type ModelRequest, textOf, type Tool } from "@ravi/kernel";
import { toolSpec, toolTurn } from "@ravi/kernel/loop";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

/** A small team for tests: a lead who hires three workers, each with two model calls and one tool call in between. */
export interface Team {
  readonly lead: Agent;
  readonly worker: Agent;
  readonly paid: { calls: number; tools: number };
}

export interface TeamOptions {
  readonly idempotent?: boolean;
  /** Called with every model call and every tool call before it is made. */
  readonly onCall?: (what: string) => unknown;
}

export function team({ idempotent = true, onCall }: TeamOptions = {}): Team {
  const paid = { calls: 0, tools: 0 };
  const square: Tool = defineTool({
    name: "square",
    description: "n squared",
    input: z.object({ n: z.number() }),
    idempotent,
    async execute({ n }) {
      paid.tools++;
      await onCall?.(`tool ${n}`);
      return n * n;
    },
  });
  const model = scriptedModel(
    async (request) => {
      paid.calls++;
      await onCall?.(`model ${lastUser(request)}`);
      const result = request.messages.find(({ role }) => role === "tool");
      if (result !== undefined) return `${lastUser(request)} squared is ${textOf(result)}`;
      return { toolCalls: [{ name: "square", arguments: { n: Number(lastUser(request)) } }] };
    },
    { record: false },
  );
  const worker: Agent = {
    id: AgentId("worker"),
    async run(ctx, inbox) {
      await ctx.remember({ role: "user", content: inbox.input });
      for (;;) {
        const request = { messages: await ctx.window({ system: "square it" }), tools: [toolSpec(square)] };
        const response = await ctx.llm(model, request);
        await ctx.remember(response.message);
        if (response.message.toolCalls === undefined) {
          return { status: "completed", output: textOf(response.message), stopReason: "done" };
        }
        const turn = await toolTurn(ctx, response, [square]);
        for (const message of turn.messages) await ctx.remember(message);
        if (turn.stop !== undefined) throw turn.stop;
      }
    },
  };
  const lead: Agent = {
    id: AgentId("lead"),
    async run(ctx, inbox) {
      const stamp = `${await ctx.uuid()} ${await ctx.random()} ${await ctx.now()}`;
      const hires = inbox.input.split(" ").map((input) => ({ kind: "hire", agent: worker, input }) as const);
      const outcomes = await ctx.batch(hires);
      const outputs = outcomes.map((outcome) =>
        "result" in outcome ? outcome.result.output : outcome.status,
      );
      await ctx.check();
      return { status: "completed", output: `${stamp}: ${outputs.join(", ")}`, stopReason: "done" };
    },
  };
  return { lead, worker, paid };
}

function lastUser(request: ModelRequest): string {
  const message = request.messages.findLast(({ role }) => role === "user");
  return message === undefined ? "" : textOf(message);
}
