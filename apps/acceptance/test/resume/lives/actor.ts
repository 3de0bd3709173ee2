import {
  type Agent,
  AgentId,
  type AgentResult,
  type HireOutcome,
  type Inbox,
  isRaviError,
  type JsonValue,
  type Leaf,
  type Outcome,
  type RunContext,
  type RunHandle,
  totalTokens,
} from "@ravi/kernel";
import { type House, modelOf, toolOf } from "./outside.ts";
import type { CallPlan, LeafPlan, Life, Step } from "./plan.ts";

function codeOf(error: unknown): string {
  return isRaviError(error) ? error.code : "another error";
}

const RESULTS: { readonly [E in Exclude<Life["end"], "throw">]: unknown } = {
  done: { status: "completed", output: "done", stopReason: "done" },
  partial: { status: "partial", output: "half", stopReason: "length" },
  garbage: { status: "completed" },
};

/** An agent that follows its plan, and tells the house everything that it gets to know. */
export function agentOf(house: House, name: string, life: Life): Agent {
  return { id: AgentId(name), run: (ctx, inbox) => new Actor(house, name, life, ctx, inbox).run() };
}

class Actor {
  private readonly house: House;
  private readonly name: string;
  private readonly life: Life;
  private readonly ctx: RunContext;
  private readonly inbox: Inbox;
  private readonly handles: RunHandle[] = [];

  constructor(house: House, name: string, life: Life, ctx: RunContext, inbox: Inbox) {
    this.house = house;
    this.name = name;
    this.life = life;
    this.ctx = ctx;
    this.inbox = inbox;
    house.trace.set(ctx.execId, []);
    if (ctx.supervision.isRoot) house.starts++;
  }

  async run(): Promise<AgentResult> {
    const { life, name } = this;
    for (const [at, step] of life.steps.entries()) {
      await this.doStep(step, at);
      // Whatever it did beside a call that it does not await would be refused, or not, by chance.
      if (step.do === "unawaited") break;
    }
    if (life.end === "throw") throw new TypeError(`${name} crashed`);
    return RESULTS[life.end] as AgentResult;
  }

  private async doStep(step: Step, at: number): Promise<void> {
    for (let again = 0; again < 3; again++) {
      const where = `${at}.${again}`;
      try {
        this.say(
          step,
          `${where} ${await this.perform(step, `${this.ctx.execId}|${where}`, `${this.name}_${at}`)}`,
        );
        return;
      } catch (error) {
        this.say(step, `${where} ! ${codeOf(error)}`);
        if (await this.isGrantedMore(error)) continue;
        if (step.do === "throw" || !this.life.catches) throw error;
        return;
      }
    }
  }

  /** What it sees after it was stopped is not on record. Neither is a bug of its own. */
  private say(step: Step, text: string): void {
    const { ctx, house } = this;
    if (!ctx.signal.aborted && step.do !== "throw")
      house.note(ctx.execId, `${isUnsure(step) ? "unsure" : step.do} ${text}`);
  }

  private async isGrantedMore(error: unknown): Promise<boolean> {
    if (!this.life.asksForMore || !isRaviError(error, "BUDGET_EXHAUSTED")) return false;
    try {
      return (await this.ctx.requestBudget?.(error)) === true;
    } catch (refused) {
      if (this.life.catches) return false;
      throw refused;
    }
  }

  private async perform(step: Step, what: string, name: string): Promise<string> {
    const { ctx, inbox, house, handles } = this;
    switch (step.do) {
      case "llm":
        return this.ask(step.call, what, step.call.wrapUp);
      case "tool": {
        const leaf = this.leaf(step, what, name);
        return leaf.kind === "tool"
          ? this.told({ status: "completed", result: await ctx.tool(leaf.call, leaf.tool) }, what)
          : "";
      }
      case "hire": {
        const leaf = this.leaf(step, what, name);
        return leaf.kind === "hire" ? this.told(await ctx.hire(leaf), what) : "";
      }
      case "batch": {
        const leaves = step.leaves.map((leaf, n) => this.leaf(leaf, `${what}.${n}`, `${name}_${n}`));
        return (await ctx.batch(leaves)).map((outcome, n) => this.told(outcome, `${what}.${n}`)).join(" & ");
      }
      case "spawn": {
        const { timeoutS: _none, ...terms } = step.terms;
        this.noteHire(name, what);
        const handle = await ctx.spawn(agentOf(house, name, step.life), { input: name, ...terms });
        handles.push(handle);
        return handle.execId;
      }
      case "join": {
        const handle = handles[step.which];
        return handle === undefined ? "nobody" : this.told(await ctx.join(handle), what);
      }
      case "dismiss":
        handles[step.which]?.cancel("dismissed");
        return "";
      case "ask": {
        const handle = handles[step.which];
        return handle === undefined
          ? "nobody"
          : JSON.stringify(await ctx.ask(handle, { what }, { timeoutS: 4 }));
      }
      case "take":
        return JSON.stringify((await inbox.take()) ?? null);
      case "receive":
        return within(house.receiving, ctx.execId, async () => {
          const message = await inbox.receive();
          if (step.after === "reply") await inbox.reply(message, "yes");
          if (step.after === "nack") await inbox.nack(message, "later");
          return JSON.stringify(message);
        });
      case "wait":
        return within(house.waiting, step.name, async () => JSON.stringify(await ctx.waitFor(step.name)));
      case "sleep": {
        const until = (await ctx.now()) + step.s * 1_000;
        await ctx.sleepUntil(until);
        return String(until);
      }
      case "record":
        return JSON.stringify(await ctx.record("fact", () => this.fact(step.way)));
      case "facts":
        return `${await ctx.now()} ${await ctx.uuid()} ${await ctx.random()}`;
      case "remember":
        await ctx.remember({ role: "user", content: what });
        return String((await ctx.window({ system: "s" })).length);
      case "emit":
        ctx.emit({ type: "progress", name: "p", data: { what } });
        return "";
      case "check":
        await ctx.check();
        return "";
      case "draft":
        ctx.draft?.(what);
        return "";
      case "throw":
        return this.crash(what, step.times);
      case "beside": {
        const first = this.ask(step.call, `${what}.a`);
        const both = await Promise.allSettled([first, this.ask(step.call, `${what}.b`)]);
        return both.map(({ status }) => status).join();
      }
      default:
        this.ask(step.call, `${what}.u`).catch(() => {});
        return "";
    }
  }

  private async ask(call: CallPlan, what: string, wrapUp = false): Promise<string> {
    const request = { messages: [{ role: "user", content: what }] } as const;
    const { message } = await this.ctx.llm(modelOf(this.house, call, what), request, { wrapUp });
    this.see(what);
    return String(message.content);
  }

  /** Fails so often, over all processes; then it is mended, unless it never is. */
  private crash(what: string, times: number): string {
    const { thrown } = this.house.outside;
    const before = thrown.get(what) ?? 0;
    thrown.set(what, before + 1);
    if (before >= times && times < 3) return "mended";
    throw new TypeError("a bug");
  }

  private fact(way: "value" | "promise" | "throws" | "bad"): JsonValue | Promise<JsonValue> {
    const { house } = this;
    if (way === "throws") throw new Error("cannot be read");
    // What no type allows, and JavaScript does.
    if (way === "bad") return new Map() as never;
    return way === "value" ? house.number : house.turn().then(() => house.number);
  }

  private leaf(plan: LeafPlan, what: string, name: string): Leaf {
    const { house } = this;
    if (plan.do === "hire") this.noteHire(name, what);
    if (plan.do === "hire")
      return { kind: "hire", agent: agentOf(house, name, plan.life), input: name, ...plan.terms };
    if (plan.do === "tool") {
      const call = { id: "1", name: "tool", arguments: plan.tool.isMisread ? "{oops" : '{"n":1}' };
      return { kind: "tool", tool: toolOf(house, plan.tool, what), call };
    }
    const request = { messages: [{ role: "user", content: what }] } as const;
    return { kind: "llm", model: modelOf(house, plan.call, what), request, wrapUp: plan.call.wrapUp };
  }

  private noteHire(name: string, what: string): void {
    const { hires } = this.house.outside;
    hires.set(name, (hires.get(name) ?? new Set()).add(what));
  }

  private see(what: string): void {
    if (!this.house.isDead) this.house.outside.see(what);
  }

  /** An outcome as text, with everything that a replay has to tell in the same way. */
  private told(outcome: Outcome, what: string): string {
    if ("response" in outcome || ("result" in outcome && "content" in outcome.result)) this.see(what);
    if ("response" in outcome) return String(outcome.response.message.content);
    if ("result" in outcome && "content" in outcome.result) return JSON.stringify(outcome.result.content);
    const hire: HireOutcome = outcome as HireOutcome;
    if (hire.status === "timedOut") this.handles.push(hire.handle);
    if ("error" in hire && this.life.isStrict === true) throw hire.error;
    if ("error" in hire) return `${hire.status} ${codeOf(hire.error)}`;
    const used = hire.usage === undefined ? "" : totalTokens(hire.usage);
    return "result" in hire ? `${hire.status} ${hire.result.output} ${used} ${hire.costUsd}` : hire.status;
  }
}

/** Whether it may have begun nothing, and still have an outcome. */
function isUnsure(step: Step): boolean {
  if (step.do === "batch") return step.leaves.every(isUnsure);
  return step.do === "tool" && (step.tool.isMisread || step.tool.needsApproval);
}

/** Counts who is in there. */
async function within(
  counts: Map<string, number>,
  name: string,
  wait: () => Promise<string>,
): Promise<string> {
  const add = (n: number): void => void counts.set(name, (counts.get(name) ?? 0) + n);
  add(1);
  try {
    return await wait();
  } finally {
    add(-1);
  }
}
