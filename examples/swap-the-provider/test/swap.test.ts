import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { MemoryHistory } from "@ravi/context";
import { type ChatMessage, HistoryRetention, SessionId, textOf } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { describe, expect, test } from "vitest";
import { guide } from "../src/guide.ts";
import { modelOf, type ProviderName } from "../src/models.ts";
import { startServers } from "../src/servers.ts";

const execute = promisify(execFile);

async function program(file: string, ...args: string[]): Promise<string> {
  const path = join(import.meta.dirname, "../src", file);
  const { stdout } = await execute(process.execPath, ["--conditions=@ravi/source", path, ...args]);
  return stdout;
}

describe("one program", () => {
  test.each(["openai", "anthropic", "ai-sdk"])("says the same on %s", async (provider) => {
    expect(await program("main.ts", provider)).toBe(
      "So it is 2 °C and snow, and 18 °C and dry: pack for that.\n",
    );
  });

  test("does not take a misspelt provider for another one", async () => {
    await expect(program("main.ts", "opnai")).rejects.toThrow("expected openai, anthropic or ai-sdk");
  });

  test("goes on with its conversation over every change of provider", async () => {
    expect((await program("conversation.ts")).trim().split("\n")).toEqual([
      "openai: So it is 2 °C and snow, and 18 °C and dry: pack for that.",
      "anthropic: So it is 31 °C and sunny: pack for that.",
      "ai-sdk: So it is 2 °C and snow: pack for that.",
      "anthropic: So it is 18 °C and dry: pack for that.",
      "openai: So it is 2 °C and snow, and 31 °C and sunny: pack for that.",
    ]);
  });
});

describe("a conversation that changes its provider in the middle", () => {
  const PROVIDERS: readonly ProviderName[] = ["openai", "anthropic", "ai-sdk"];
  /** Every order of the three, and back to the first: it must know its own reasoning again. */
  const ORDERS = PROVIDERS.flatMap((first) =>
    PROVIDERS.filter((name) => name !== first).map((second) => {
      const third = PROVIDERS.find((name) => name !== first && name !== second) ?? first;
      return [first, second, third, first] as const;
    }),
  );

  const QUESTIONS = ["Oslo and Lisbon?", "Cairo?", "Oslo?", "Lisbon and Cairo?"];

  test.each(ORDERS)(
    "%s, %s, %s, %s: every request is accepted, and carries all that was said",
    async (...order) => {
      await using servers = await startServers();
      const history = new MemoryHistory();
      const runtime = new Runtime({ history });
      for (const [turn, provider] of order.entries()) {
        const { requests } = provider === "anthropic" ? servers.anthropic : servers.openai;
        const before = requests.length;
        const run = runtime.run(guide(modelOf(provider, servers)), QUESTIONS[turn] ?? "", {
          sessionId: "trip",
          retention: HistoryRetention.PERMANENT,
        });
        // The servers refuse what does not belong together, so a conversation that is completed was whole.
        expect((await run.result).status).toBe("completed");
        expect(requests).toHaveLength(before + 2);
        const sent = JSON.stringify(requests.at(-1)?.body);
        for (const question of QUESTIONS.slice(0, turn + 1)) expect(sent).toContain(question);
      }
      const { messages } = history.load({ sessionId: SessionId("trip"), agentName: "guide" });
      expect(messages.filter(({ role }) => role === "user").map(textOf)).toEqual(QUESTIONS);
      expect(messages.filter(({ role }) => role === "tool")).toHaveLength(6);
      expect([...thinkers(messages)].toSorted()).toEqual(["ai-sdk/openai.responses", "anthropic", "openai"]);
    },
  );
});

/** Whose reasoning is in a conversation. */
function thinkers(messages: readonly ChatMessage[]): ReadonlySet<string> {
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return new Set(
    parts.flatMap((part) => (part.type === "reasoning" && part.opaque ? [part.opaque.provider] : [])),
  );
}
