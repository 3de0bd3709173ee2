import type { ModelRequest, ToolSpec } from "@ravi/kernel";
import { type Answer, type LoopbackCall, type LoopbackServer, loopbackOpenAI } from "@ravi/testing";
import type { CallWork } from "../../../src/killed/work.ts";

/** A provider with a bill of its own. It notices if one key stands for two requests. */
export class Provider implements AsyncDisposable {
  readonly faults: string[] = [];
  /** Calls whose first answer breaks off after it is charged. */
  readonly broken = new Set<string>();
  /** Called with each request. */
  onRequest: (() => void) | undefined;
  private readonly bodies = new Map<string, string>();
  private readonly tries = new Map<string, number>();
  private server: LoopbackServer | undefined;

  static async open(): Promise<Provider> {
    const provider = new Provider();
    const prices = { input: 1, output: 1 };
    provider.server = await loopbackOpenAI({ prices, script: (...asked) => provider.answer(...asked) });
    return provider;
  }

  get url(): string {
    return this.server?.url ?? "";
  }

  /** Tokens and times, by idempotency key. */
  billed(): ReadonlyMap<string, { readonly tokens: number; readonly times: number }> {
    const billed = new Map<string, { readonly tokens: number; readonly times: number }>();
    for (const { idempotencyKey = "", inputTokens, outputTokens } of this.server?.bill().entries ?? []) {
      const { tokens, times } = billed.get(idempotencyKey) ?? { tokens: 0, times: 0 };
      billed.set(idempotencyKey, { tokens: tokens + inputTokens + outputTokens, times: times + 1 });
    }
    return billed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server?.close();
  }

  private answer(
    { messages, tools = [] }: ModelRequest,
    { idempotencyKey: key = "", body }: LoopbackCall,
  ): Answer {
    this.onRequest?.();
    const text = JSON.stringify(body);
    if ((this.bodies.get(key) ?? text) !== text) this.faults.push(`two requests have the key ${key}`);
    this.bodies.set(key, text);
    const tries = this.tries.get(key) ?? 0;
    this.tries.set(key, tries + 1);
    const asked = String(messages.find(({ role }) => role === "user")?.content);
    const {
      what,
      rounds,
      ms: delayMs,
      fault,
    } = JSON.parse(asked) as CallWork & { what: string; rounds: number };
    if (fault === "refused") return { delayMs, fault: { type: "status", status: 400 } };
    if (fault === "down" && tries < 2) return { delayMs, fault: { type: "status", status: 500 } };
    if (fault === "busy" && tries < 1)
      return { delayMs, fault: { type: "status", status: 429, headers: { "retry-after-ms": "20" } } };
    if (fault === "broken" && tries < 1) {
      this.broken.add(key);
      return { delayMs, text: what, fault: { type: "cut" } };
    }
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
    const handoffs = tools.filter(({ name }) => name.startsWith("handoff_"));
    if (results.length < rounds && handoffs.length > 0) {
      const task = (n: number): string => JSON.stringify({ what: `${what}.${n}`, rounds: 1, ms: delayMs });
      const ask = ({ name }: ToolSpec, n: number) => ({
        name,
        arguments: { task: task(results.length + n) },
      });
      return { delayMs, toolCalls: handoffs.map(ask) };
    }
    if (results.length < rounds)
      return { delayMs, toolCalls: [{ name: results.length % 2 === 0 ? "act" : "note" }] };
    // What it says follows from what it is sent, and fits into the 200 tokens that are asked for.
    return { delayMs, text: `to ${what}: ${results.join()}`.slice(0, 700) };
  }
}
