import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type IdSource, type LLMClient, type ModelRequest, type RunEvent } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { type Answer, loopbackOpenAI, record, replay, UnrecordedRequestError } from "@ravi/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";

const KEY = "sk-live-0123456789abcdef";
const QUESTION = "Which vendor is cheaper, Acme or Borealis?";
const PRICES = { big: { input: 2, output: 8 }, small: { input: 0.25, output: 1 } };

interface Models {
  readonly big: LLMClient;
  readonly small: LLMClient;
}

/** A lead who hires two researchers at once; each looks a price up with a tool. */
function team(
  { big, small }: Models,
  instructions = "You lead. Hire a researcher for each vendor, then compare.",
): ReActAgent {
  const price = defineTool({
    name: "price",
    description: "The price of a vendor.",
    input: z.object({ vendor: z.string() }),
    execute: ({ vendor }) => `${vendor} asks $${vendor.length * 10}`,
  });
  const researcher = new ReActAgent({
    name: "researcher",
    model: small,
    instructions: "You look one price up.\nAnswer in one line.",
    tools: [price],
  });
  return new ReActAgent({ name: "lead", model: big, instructions, tools: [researcher.asDelegate()] });
}

/** What both models say, by what they are asked. */
function answerTo(request: ModelRequest): Answer {
  const last = request.messages.at(-1);
  const text = JSON.stringify(last?.content);
  const has = (name: string): boolean => request.tools?.some((tool) => tool.name === name) ?? false;
  if (has("price")) {
    if (last?.role === "tool") return { reasoning: "There it is.", text: `It says: ${JSON.parse(text)}` };
    return {
      toolCalls: [{ name: "price", arguments: { vendor: text.includes("Acme") ? "Acme" : "Borealis" } }],
    };
  }
  if (last?.role === "tool") return "Acme is cheaper.";
  return {
    text: "I hire two.",
    toolCalls: ["Acme", "Borealis"].map((vendor) => ({
      name: "researcher",
      arguments: { task: `Find the price of ${vendor}` },
    })),
  };
}

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "ravi-cassette-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "run.jsonl");
}

/** The same ids in every run, so that whatever differs comes from the models. */
function countedIds(): IdSource {
  let n = 0;
  return { uuid: () => `id-${++n}`, random: () => 0.5 };
}

interface Played {
  readonly output: string;
  readonly status: string;
  readonly cost: unknown;
  readonly usage: unknown;
  readonly events: readonly RunEvent[];
}

async function play(agent: ReActAgent): Promise<Played> {
  const runtime = new Runtime({
    clock: { now: () => 1_700_000_000_000 },
    ids: countedIds(),
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    meter: new ModelMeter({ prices: PRICES }),
  });
  const handle = runtime.run(agent, QUESTION, { runId: "run-1", executionBudget: { maxCostUsd: 1 } });
  const events: RunEvent[] = [];
  for await (const event of handle.events()) events.push(event);
  const { output, status, cost, usage, error } = await handle.result;
  if (error !== undefined && error !== null) throw error;
  return { output, status, cost, usage, events };
}

/** Each execution's own events, in their order. Between executions that run at once the order is the network's. */
function byExecution(events: readonly RunEvent[]): string {
  const groups = Map.groupBy(events, ({ execId }) => execId);
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(
    sorted.map(([execId, own]) => [execId, own.map(({ at, agentId, event }) => ({ at, agentId, event }))]),
    undefined,
    2,
  );
}

/** A live run of the whole tree over real HTTP, recorded. The server is closed when it is over. */
async function recorded(file: string): Promise<Played> {
  await using server = await loopbackOpenAI({ script: answerTo, requireKey: KEY });
  const client = (model: string): LLMClient =>
    record(openai(model, { api: "chat", baseURL: server.url, apiKey: KEY }), file);
  return await play(team({ big: client("big"), small: client("small") }));
}

function replayed(file: string) {
  return { big: replay(file, { id: "openai/big" }), small: replay(file, { id: "openai/small" }) };
}

describe("a recorded run of a tree of agents", () => {
  test("replays offline, with the same answer, cost and events", async () => {
    const file = temporaryFile();
    const live = await recorded(file);
    expect([live.status, live.output]).toEqual(["completed", "Acme is cheaper."]);
    expect(new Set(live.events.map(({ execId }) => execId)).size).toBe(3);
    expect(live.events.some(({ event }) => event.type === "text")).toBe(true);

    const models = replayed(file);
    const again = await play(team(models));
    expect({ ...again, events: [] }).toEqual({ ...live, events: [] });
    expect(byExecution(again.events)).toBe(byExecution(live.events));
    models.big.assertAllUsed();
    models.small.assertAllUsed();
  });

  test("replays byte for byte as often as it is asked to", async () => {
    const file = temporaryFile();
    await recorded(file);
    const first = JSON.stringify(await play(team(replayed(file))));
    expect(JSON.stringify(await play(team(replayed(file))))).toBe(first);
  });

  test("holds every call of every agent once, and no key", async () => {
    const file = temporaryFile();
    await recorded(file);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(KEY);
    const { big, small } = replayed(file);
    expect([big.unused.length, small.unused.length]).toEqual([2, 4]);
  });

  test("fails with a readable diff when a prompt was changed", async () => {
    const file = temporaryFile();
    await recorded(file);
    const changed = team(replayed(file), "You lead. Hire a researcher for each vendor, then decide.");
    const error = await play(changed).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(diffOf(error)).toMatchInlineSnapshot(`
      "--- recorded
      +++ asked
      @@ messages[0] system @@
      -You lead. Hire a researcher for each vendor, then compare.
      +You lead. Hire a researcher for each vendor, then decide.
      @@ messages[1] user @@
       Which vendor is cheaper, Acme or Borealis?
      @@ tools researcher @@
       Hands a task to researcher and returns its answer."
    `);
  });
});

/** The runtime hands errors over as data; what a person reads is the message. */
function diffOf(error: unknown): string {
  if (error instanceof UnrecordedRequestError) return error.diff;
  const message = error instanceof Error ? error.message : String(Reflect.get(Object(error), "message"));
  return message.slice(message.indexOf("--- recorded"), message.indexOf("\nIf the change"));
}
