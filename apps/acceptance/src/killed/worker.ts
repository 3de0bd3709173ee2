import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  AgentId,
  type AgentResult,
  defineTool,
  type HireOutcome,
  type Inbox,
  isRaviError,
  type Leaf,
  type LLMClient,
  type Outcome,
  type RunContext,
  type RunHandle,
  textOf,
  type Tool,
  type ToolContext,
  totalTokens,
} from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import * as z from "zod";
import type { CallWork, LeafWork, StepWork, ToolWork, Work } from "./work.ts";

/** What a process writes down outside of its journal, so that it is there after a kill. */
export interface Book {
  readonly model: LLMClient;
  /** A planted fault: nobody is asked before a tool is repeated. */
  readonly repeatsTools: boolean;
  saw(exec: string, at: number, text: string): void;
  did(key: string, isIdempotent: boolean): void;
  /** Somebody waits for a message, which the list of runs does not say. */
  receives(exec: string): void;
}

/** An agent that does its work and writes down what it sees. */
export function worker(book: Book, name: string, work: Work): Agent {
  return { id: AgentId(name), run: (ctx, inbox) => new Worker(book, name, ctx, inbox).run(work) };
}

/** How the prompt tells the server what to answer. */
function prompt(what: string, call: CallWork, rounds = 0): string {
  return JSON.stringify({ what, rounds, ...call });
}

class Worker {
  private readonly book: Book;
  private readonly name: string;
  private readonly ctx: RunContext;
  private readonly inbox: Inbox;
  private readonly handles: RunHandle[] = [];
  private isLost = false;

  constructor(book: Book, name: string, ctx: RunContext, inbox: Inbox) {
    this.book = book;
    this.name = name;
    this.ctx = ctx;
    this.inbox = inbox;
  }

  async run(work: Work): Promise<AgentResult> {
    const outputs: string[] = [];
    for (const [at, step] of work.entries()) outputs.push(await this.take(step, at));
    return { status: "completed", output: outputs.join("\n"), stopReason: "done" };
  }

  /** What it sees after it was stopped is not on record. */
  private async take(step: StepWork, at: number): Promise<string> {
    let text: string;
    try {
      text = `${step.do} ${await this.perform(step, `${this.ctx.execId}|${at}`, `${this.name}_${at}`)}`;
    } catch (error) {
      if (this.ctx.signal.aborted || !isRaviError(error)) throw error;
      text = `${step.do} ! ${error.code}`;
    }
    // Nor is anything after its journal has failed.
    this.isLost ||= this.ctx.signal.aborted || text.includes("JOURNAL_");
    if (!this.isLost) this.book.saw(this.ctx.execId, at, text);
    return text;
  }

  private async perform(step: StepWork, what: string, name: string): Promise<string> {
    const { ctx, inbox, book, handles } = this;
    switch (step.do) {
      case "llm":
      case "tool":
      case "hire":
      case "loop":
      case "lead": {
        const leaf = this.leaf(step, what, name);
        if (leaf.kind === "llm") return textOf((await ctx.llm(leaf.model, leaf.request)).message);
        if (leaf.kind === "hire") return told(await ctx.hire(leaf));
        return told({ status: "completed", result: await ctx.tool(leaf.call, leaf.tool) });
      }
      case "batch": {
        const leaves = step.leaves.map((leaf, n) => this.leaf(leaf, `${what}.${n}`, `${name}_${n}`));
        return (await ctx.batch(leaves)).map(told).join(" & ");
      }
      case "spawn": {
        const handle = await ctx.spawn(worker(book, name, step.team), { input: name, ...step.terms });
        handles.push(handle);
        return handle.execId;
      }
      case "join": {
        const handle = handles.shift();
        return handle === undefined ? "nobody" : told(await ctx.join(handle));
      }
      case "sleep": {
        const until = (await ctx.now()) + step.ms;
        await ctx.sleepUntil(until);
        return String(until);
      }
      case "wait":
        return JSON.stringify(await ctx.waitFor("w"));
      case "receive":
        book.receives(ctx.execId);
        return JSON.stringify(await inbox.receive());
      case "take":
        return JSON.stringify((await inbox.take()) ?? null);
      case "record":
        return JSON.stringify(await ctx.record("pid", () => process.pid));
      case "facts":
        return `${await ctx.now()} ${await ctx.uuid()} ${await ctx.random()}`;
      default:
        await ctx.remember({ role: "user", content: what });
        return String((await ctx.window({ system: "s" })).length);
    }
  }

  private leaf(work: LeafWork, what: string, name: string): Leaf {
    const { book } = this;
    switch (work.do) {
      case "llm": {
        const request = { messages: [{ role: "user", content: prompt(what, work.call) }] } as const;
        return { kind: "llm", model: book.model, request };
      }
      case "tool": {
        const call = { id: "1", name: "act", arguments: "{}" };
        return { kind: "tool", tool: toolOf(book, "act", work.tool), call };
      }
      case "hire":
        return { kind: "hire", agent: worker(book, name, work.team), input: name, ...work.terms };
      default: {
        const agent = work.do === "loop" ? this.looper(name, work.call.ms) : this.lead(name, work.call.ms);
        return { kind: "hire", agent, input: prompt(what, work.call, work.rounds), ...work.terms };
      }
    }
  }

  private looper(name: string, ms: number): Agent {
    const { book } = this;
    const tools = [
      toolOf(book, "act", { ms, idempotent: false, needsApproval: false, way: "value" }),
      toolOf(book, "note", { ms, idempotent: true, needsApproval: false, way: "value" }),
    ];
    return new ReActAgent({ name, model: book.model, tools, maxSteps: 10 });
  }

  private lead(name: string, ms: number): Agent {
    const subAgents = ["a", "b"].map((letter) => ({ agent: this.looper(`${name}_${letter}`, ms) }));
    return new OrchestratorAgent({ name, model: this.book.model, subAgents });
  }
}

/** A tool whose effect is a line in the book, in the middle of its time. */
function toolOf(book: Book, name: string, { ms, idempotent, needsApproval, way }: ToolWork): Tool {
  return defineTool({
    name,
    description: "",
    input: z.object({}),
    idempotent: idempotent || book.repeatsTools,
    needsApproval,
    execute: async (_, context: ToolContext) => {
      const { idempotencyKey: key } = context;
      await sleep(ms / 2);
      book.did(key, idempotent);
      if (way === "asks")
        await context.llm(book.model, { messages: [{ role: "user", content: prompt(key, { ms }) }] });
      await sleep(ms / 2);
      if (way === "throws") throw new Error(`${key} failed`);
      return way === "large" ? `${key} ${"x".repeat(300_000)}` : key;
    },
  });
}

/** An outcome as text, with everything that a replay has to tell in the same way. */
function told(outcome: Outcome): string {
  if ("response" in outcome) return textOf(outcome.response.message);
  if ("result" in outcome && "content" in outcome.result) {
    const { content } = outcome.result;
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return text.length > 1_000 ? `${text.slice(0, 100)}… ${text.length}` : text;
  }
  const hire = outcome as HireOutcome;
  if ("error" in hire) return `${hire.status} ${hire.error.code}`;
  const used = hire.usage === undefined ? "" : totalTokens(hire.usage);
  return "result" in hire ? `${hire.status} ${hire.result.output.length} ${used}` : hire.status;
}
