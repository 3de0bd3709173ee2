import {
  type Agent,
  AgentId,
  type AgentResult,
  defineTool,
  type HireOutcome,
  type ModelRequest,
  Priority,
  textOf,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

/** Agents that use every operation of a context, and what they paid, by call. */
export interface Troupe {
  readonly lead: Agent;
  readonly helper: Agent;
  readonly clerk: Agent;
  /** How often each call was made. */
  readonly paid: Map<string, number>;
  /** What an execution saw of the time; a replay that sees another is in `moved`. */
  readonly moved: string[];
}

export const SIGNALS = { "go ahead": "yes", "approval:run:tool:1:2": true } as const;

export function troupe(): Troupe {
  const paid = new Map<string, number>();
  const moved: string[] = [];
  const times = new Map<string, number>();
  const pay = (what: string): void => void paid.set(what, (paid.get(what) ?? 0) + 1);
  const lastOf = (request: ModelRequest): string => textOf(request.messages.at(-1) ?? { content: "" });
  const model = scriptedModel(
    (request) => {
      pay(`model ${lastOf(request)}`);
      return `heard ${lastOf(request)}`;
    },
    { record: false },
  );
  const tool = (name: string, options: { idempotent: boolean; needsApproval?: boolean }) =>
    defineTool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...options,
      execute({ n }) {
        pay(`${name} ${n}`);
        if (n < 0) throw new RangeError("too small");
        return n * n;
      },
    });
  const square = tool("square", { idempotent: true });
  const send = tool("send", { idempotent: true, needsApproval: true });
  const call = (name: string, n: number) => ({ id: `c${n}`, name, arguments: JSON.stringify({ n }) });
  const say = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;

  const helper: Agent = {
    id: AgentId("helper"),
    async run(ctx, inbox) {
      const { message } = await ctx.llm(model, say(`${inbox.input} one`));
      const result = await ctx.tool(call("square", inbox.input.length), square);
      const last = await ctx.llm(model, say(`${textOf(message)} ${String(result.content)}`));
      return done(textOf(last.message));
    },
  };
  const clerk: Agent = {
    id: AgentId("clerk"),
    async run(ctx, inbox) {
      const question = await inbox.receive();
      await inbox.reply(question, `${String(question.content)}!`);
      await ctx.check();
      return done(`answered ${String(question.content)}`);
    },
  };
  const idle: Agent = {
    id: AgentId("idle"),
    async run(_ctx, inbox) {
      await inbox.receive();
      return done("");
    },
  };
  const lead: Agent = {
    id: AgentId("lead"),
    async run(ctx) {
      const said: string[] = [await ctx.uuid()];
      const now = await ctx.now();
      if ((times.get(ctx.execId) ?? now) !== now) moved.push(ctx.execId);
      times.set(ctx.execId, now);
      said.push(textOf((await ctx.llm(model, say("hello"))).message));
      const outcomes = await ctx.batch([
        { kind: "tool", call: call("square", 3), tool: square },
        { kind: "tool", call: call("square", -1), tool: square },
        { kind: "tool", call: call("send", 5), tool: send },
        { kind: "llm", model, request: say("aside") },
        { kind: "hire", agent: helper, input: "ab", priority: Priority.HIGH },
        { kind: "hire", agent: helper, input: "abcd" },
      ]);
      said.push(...outcomes.map(show));
      said.push(String(await ctx.waitFor("go ahead")));
      await ctx.sleepUntil(now + 60_000);
      const handle = await ctx.spawn(clerk, { input: "" });
      said.push(String(await ctx.ask(handle, "who", { timeoutS: 600 })), show(await ctx.join(handle)));
      said.push(show(await ctx.hire({ agent: idle, input: "", timeoutS: 5 })));
      said.push(show(await ctx.hire({ agent: idle, input: "", timeoutS: 5, onTimeout: "leave" })));
      return done(said.join(" | "));
    },
  };
  return { lead, helper, clerk, paid, moved };
}

function done(output: string): AgentResult {
  return { status: "completed", output, stopReason: "done" };
}

type Shown = HireOutcome | { readonly status: string; readonly response?: object; readonly result?: object };

function show(outcome: Shown): string {
  if ("response" in outcome) return "answered";
  if (!("result" in outcome) || outcome.result === undefined) return outcome.status;
  const { output, content } = outcome.result as { output?: string; content?: string };
  return output ?? content ?? "";
}
