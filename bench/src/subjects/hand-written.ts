import * as z from "zod";
import { DONE, inc, type Plan } from "../fake.ts";

// The physical limit: what a person writes who needs no framework. Call the model, run the tools that it asks for after
// checking their arguments, append, repeat.

type Message =
  | { role: "user" | "tool"; content: string; id?: string }
  | { role: "assistant"; content?: string; calls?: { id: string; name: string; args: string }[] };

const schema = z.object({ n: z.number() });

async function answer(plan: Plan, messages: readonly Message[]): Promise<Message> {
  const last = messages.at(-1);
  const calls = plan(last?.role === "tool" ? Number(last.content) : 0);
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

export function subject(plan: Plan): () => Promise<string> {
  return async () => {
    const messages: Message[] = [{ role: "user", content: "go" }];
    for (;;) {
      const reply = await answer(plan, messages);
      messages.push(reply);
      if (reply.role !== "assistant" || reply.calls === undefined) return reply.content ?? "";
      const results = reply.calls.map(async ({ id, args }) => ({
        role: "tool" as const,
        id,
        content: await callTool(args),
      }));
      messages.push(...(await Promise.all(results)));
    }
  };
}
