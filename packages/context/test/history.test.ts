import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type ChatMessage, AgentId } from "@ravi/kernel";
import { agentContext, FileHistory, MemoryHistory, SlidingWindow } from "@ravi/context";
import { describeHistory, many, say } from "./support/history-suite.ts";
import { HOSTILE_IDS, keyOf } from "./support/keys.ts";
import { FakeDisk } from "./support/fake-disk.ts";

const folders: string[] = [];
const folder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), "ravi-history-"));
  folders.push(made);
  return made;
};
afterAll(() => Promise.all(folders.map((path) => rm(path, { recursive: true }))));

describeHistory("MemoryHistory", () => Promise.resolve(new MemoryHistory()));
describeHistory("FileHistory", async () => FileHistory.open(await folder()));
describeHistory("FileHistory on the fake disk", () => FileHistory.open("/h", { files: new FakeDisk() }));

test("T12: there are 80 hostile ids, all of them different", () => {
  expect(new Set(HOSTILE_IDS).size).toBe(HOSTILE_IDS.length);
  expect(HOSTILE_IDS.length).toBeGreaterThanOrEqual(80);
});

test("R10: MemoryHistory answers without a promise", () => {
  const history = new MemoryHistory();
  history.append(keyOf("s"), many(2));
  expect(history.load(keyOf("s")).messages).toEqual(many(2));
});

test("R10: an agent's context is all it sees: its own history, compacted", async () => {
  for (const history of [new MemoryHistory(), await FileHistory.open(await folder())]) {
    await history.append(keyOf("s", "lead"), many(10));
    await history.append(keyOf("s", "researcher"), [say("of another agent")]);
    const compaction = new SlidingWindow({ messages: 3 });
    const context = agentContext({ agentId: AgentId("lead", 2), history, compaction });
    expect(context.agentId).toBe("lead/2");
    expect(await context.getPromptWindow("s")).toEqual([say("0"), say("8"), say("9")]);
    expect((await history.load(keyOf("s", "lead"))).head).toBe(10);
    const whole: readonly ChatMessage[] = await agentContext({
      agentId: AgentId("lead"),
      history,
    }).getPromptWindow("s");
    expect(whole).toHaveLength(10);
  }
});
