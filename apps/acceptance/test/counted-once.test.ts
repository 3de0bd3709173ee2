import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { estimateTokens, FileHistory, MemoryHistory, TokenBudget } from "@ravi/context";
import { type HistoryProvider, HistoryRetention, type Supervision } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";

const LONG = "is what was said, and it is too long to be taken for a name, ";

test.each<[string, (folder: string) => Promise<HistoryProvider>]>([
  ["in memory", async () => new MemoryHistory()],
  ["in files", (folder) => FileHistory.open(join(folder, "sessions"))],
])(
  "each turn of a conversation %s counts the tokens of what it adds, not of what was said before",
  async (_, open) => {
    const folder = await mkdtemp(join(tmpdir(), "ravi-counted-"));
    const journal = SqliteJournal.open(folder);
    onTestFinished(async () => {
      await journal.close();
      await rm(folder, { recursive: true, force: true });
    });
    let [texts, messages] = [0, 0];
    const meter = new ModelMeter({
      tokenizer: (text) => {
        texts++;
        return text.length;
      },
    });
    const compaction = new TokenBudget({
      contextWindow: 1_000_000,
      countTokens: (message) => {
        messages++;
        return estimateTokens(message);
      },
    });
    const ledger = (root: Supervision): ExecutionTracker =>
      new ExecutionTracker(root.executionBudget, { scope: root.agentId });
    const model = scriptedModel(({ messages: said }) => `${said.length} ${LONG}`, { record: false });
    const history = await open(folder);
    const counted: string[] = [];
    for (let turn = 0; turn < 40; turn++) {
      [texts, messages] = [0, 0];
      const runtime = new Runtime({ journal, history, meter, compaction, ledger });
      const options = { sessionId: "chat", retention: HistoryRetention.PERMANENT };
      const { status } = await runtime.run(new ReActAgent({ name: "bob", model }), `${turn} ${LONG}`, options)
        .result;
      expect(status).toBe("completed");
      counted.push(`${texts} texts, ${messages} messages`);
    }
    // Lists of up to 16 messages are cheaper to count again.
    expect(new Set(counted.slice(20)).size).toBe(1);
    expect(counted.at(-1)).toBe("3 texts, 3 messages");
  },
);
