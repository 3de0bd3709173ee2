import * as z from "zod";
import { DONE, inc, type Plan, plans } from "../fake.ts";
import type { Run } from "../subject.ts";

// The lower bound: what somebody writes who uses no framework. Call the model, validate the arguments of the tools that it
// requests, run them, append the results, repeat.

type Message =
  | { role: "user" | "tool"; content: string; id?: string }
  | { role: "assistant"; content?: string; calls?: { id: string; name: string; args: string }[] };

type Tool = (args: string) => Promise<string>;
type Tools = Readonly<Record<string, Tool>>;

export const entry = ["zod"];

const schema = z.object({ n: z.number() });

async function answer(plan: Plan, messages: readonly Message[]): Promise<Message> {
  const last = messages.at(-1);
  const asked = plan(last?.role === "tool" ? Number(last.content) : 0);
  const calls = asked instanceof Promise ? await asked : asked;
  if (calls === null) return { role: "assistant", content: DONE };
  return {
    role: "assistant",
    calls: calls.map(({ id, name, args }) => ({ id, name, args: JSON.stringify(args) })),
  };
}

async function callTool(args: string): Promise<string> {
  const parsed = schema.safeParse(JSON.parse(args));
  return parsed.success ? inc(parsed.data) : `error: ${parsed.error.message}`;
}

async function loop(plan: Plan, tools: Tools): Promise<string> {
  const messages: Message[] = [{ role: "user", content: "go" }];
  for (;;) {
    const reply = await answer(plan, messages);
    messages.push(reply);
    if (reply.role !== "assistant" || reply.calls === undefined) return reply.content ?? "";
    const results = reply.calls.map(async ({ id, name, args }) => ({
      role: "tool" as const,
      id,
      content: (await tools[name]?.(args)) ?? `error: no tool ${name}`,
    }));
    messages.push(...(await Promise.all(results)));
  }
}

const own: Tools = { inc: callTool };

export function subject(plan: Plan): Run {
  return () => loop(plan, own);
}

export function team(size: number, turns: number): Run {
  const subs = Array.from({ length: size }, (_, n): [string, Tool] => [
    `sub${n}`,
    () => loop(plans.turns(turns), own),
  ]);
  const tools = Object.fromEntries(subs);
  const plan = plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } }));
  return () => loop(plan, tools);
}

async function* deltasOf(count: number): AsyncGenerator<{ type: "text"; delta: string }> {
  for (let n = 0; n < count; n++) yield { type: "text", delta: "x" };
}

export function stream(deltas: number): () => Promise<number> {
  return async () => {
    let seen = 0;
    for await (const { delta } of deltasOf(deltas)) seen += delta.length;
    return seen;
  };
}

export function streamByCallback(deltas: number): () => Promise<number> {
  return async () => {
    let seen = 0;
    const onDelta = ({ delta }: { delta: string }): void => {
      seen += delta.length;
    };
    for await (const each of deltasOf(deltas)) onDelta(each);
    return seen;
  };
}
