import { type ModelRequest, textOf, type ToolSpec } from "@ravi/kernel";
import {
  type Answer,
  type AnswerFault,
  type LoopbackCall,
  type LoopbackServer,
  loopbackOpenAI,
  type ScriptedToolCall,
} from "@ravi/testing";
import { chance, faultOf, wholeOf } from "../../src/soak/chance.ts";

export interface Billed {
  readonly tokens: number;
  readonly times: number;
}

export interface ProviderOptions {
  readonly seed: number;
  /** A planted fault: every call is on its bill twice. */
  readonly isGreedy: boolean;
}

const FAULTS: readonly (AnswerFault | "slow")[] = [
  { type: "status", status: 429, headers: { "retry-after-ms": "20" } },
  { type: "status", status: 500 },
  { type: "status", status: 400 },
  { type: "cut", afterDeltas: 0 },
  { type: "cut", afterDeltas: 2 },
  { type: "cut", error: new Error("planted: overloaded") },
  { type: "unfinished" },
  { type: "malformed" },
  { type: "malformed", body: "<html>", contentType: "text/html" },
  { type: "hang" },
  { type: "hang", afterDeltas: 1 },
  "slow",
];

/** A provider with a bill of its own, which outlives the processes that call it. */
export class Provider implements AsyncDisposable {
  readonly faults: string[] = [];
  /** How often an answer broke after it was charged, by key. Such a call is tried again, and paid again. */
  readonly broken = new Map<string, number>();
  /** Called with each request. */
  onRequest: (() => void) | undefined;
  /** How many calls it has had. */
  calls = 0;
  private readonly seed: number;
  private readonly bodies = new Map<string, string>();
  private readonly tries = new Map<string, number>();
  private server: LoopbackServer | undefined;

  private readonly isGreedy: boolean;

  private constructor({ seed, isGreedy }: ProviderOptions) {
    this.seed = seed;
    this.isGreedy = isGreedy;
  }

  static async open(options: ProviderOptions): Promise<Provider> {
    const provider = new Provider(options);
    provider.server = await loopbackOpenAI({
      prices: { input: 1, output: 1 },
      record: false,
      script: (...asked) => provider.answer(...asked),
    });
    return provider;
  }

  get url(): string {
    return this.server?.url ?? "";
  }

  /** By idempotency key, for each tree. */
  billed(): ReadonlyMap<string, ReadonlyMap<string, Billed>> {
    const trees = new Map<string, Map<string, Billed>>();
    const entries = this.server?.bill().entries ?? [];
    for (const { idempotencyKey: key = "", inputTokens, outputTokens } of this.isGreedy
      ? [...entries, ...entries]
      : entries) {
      const tree = treeOf(key);
      const bill = trees.get(tree) ?? new Map<string, Billed>();
      trees.set(tree, bill);
      const { tokens, times } = bill.get(key) ?? { tokens: 0, times: 0 };
      bill.set(key, { tokens: tokens + inputTokens + outputTokens, times: times + 1 });
    }
    return trees;
  }

  /** What is over need not be remembered. */
  forget(tree: string): void {
    for (const map of [this.bodies, this.tries, this.broken])
      for (const key of map.keys()) if (treeOf(key) === tree) map.delete(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server?.close();
  }

  private answer(request: ModelRequest, { idempotencyKey: key = "", body }: LoopbackCall): Answer {
    this.calls++;
    this.onRequest?.();
    // Whether it is streamed depends on who watches, and nobody watches what is resumed.
    const text = JSON.stringify(body["messages"]);
    if ((this.bodies.get(key) ?? text) !== text) this.faults.push(`two requests have the key ${key}`);
    this.bodies.set(key, text);
    const tries = this.tries.get(key) ?? 0;
    this.tries.set(key, tries + 1);
    const parts = { ...this.say(request, key), delayMs: wholeOf(0, 5, this.seed, key, tries, "ms") };
    const fault = faultOf(FAULTS, this.seed, key, tries);
    if (fault === "slow") return { ...parts, delayMs: 300 };
    if (fault === undefined) return parts;
    if (fault.type !== "status") this.broken.set(key, (this.broken.get(key) ?? 0) + 1);
    return { ...parts, fault };
  }

  /** What the model says follows from the key and from what it is sent. */
  private say(
    { messages, tools = [] }: ModelRequest,
    key: string,
  ): { text: string; toolCalls?: ScriptedToolCall[] } {
    const { seed } = this;
    const last = messages.findLast(({ role }) => role === "assistant");
    const round = Number(/round (\d+)/.exec(last === undefined ? "" : textOf(last))?.[1] ?? 0) + 1;
    const rounds = wholeOf(1, 4, seed, key.replace(/llm:.*$/, ""), "rounds");
    if (tools.length === 0 || round > rounds)
      return { text: `done ${key} ${"z".repeat(wholeOf(0, 300, seed, key, "length"))}`.slice(0, 600) };
    const calls = Array.from({ length: wholeOf(1, 3, seed, key, "calls") }, (_, n) =>
      this.call(tools, `${key} ${n}`),
    );
    return { text: `round ${round}`, toolCalls: calls };
  }

  private call(tools: readonly ToolSpec[], what: string): ScriptedToolCall {
    const { name = "" } = tools[Math.floor(chance(this.seed, what) * tools.length)] ?? {};
    const fault = faultOf(["unknown", "cut", "wrong"] as const, this.seed, what, "call");
    if (fault === "unknown") return { name: "nobody" };
    if (fault === "cut") return { name, arguments: '{"what":' };
    if (fault === "wrong") return { name, arguments: { what: 7 } };
    return { name, arguments: name.startsWith("handoff_") ? { task: what } : { what } };
  }
}

/** The run that a call belongs to. */
export function treeOf(key: string): string {
  return key.split(/[/:]/, 1)[0] ?? "";
}
