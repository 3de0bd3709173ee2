import { type ChatMessage, executionBudget, type ModelRequest, Priority, textOf } from "@ravi/kernel";
import { estimateTokens, ExecutionTracker, FairPool, ModelMeter } from "@ravi/resources";

const ROUNDS = 7;
const CALLS = 200_000;
const ESTIMATE = { tokens: 1_200, cost: 0.012, turns: 1 };
const ACTUAL = { tokens: 700, cost: 0.007 };

/** What a reservation, an estimate and a permit cost, each compared with the plain code that it replaces. */
export async function resources(): Promise<void> {
  const rows: [string, string][] = [];
  let used = 0;
  rows.push([
    "plain counter: used += n; if (used > cap)",
    perCall(() => {
      used += ACTUAL.tokens;
      if (used > Number.MAX_SAFE_INTEGER) throw new Error("over");
    }),
  ]);
  for (const depth of [1, 4, 16]) {
    const leaf = chain(depth);
    rows.push([`reserve and settle, depth ${depth}`, perCall(() => leaf.reserve(ESTIMATE).settle(ACTUAL))]);
  }
  const flat = chain(1);
  rows.push(["consume, depth 1", perCall(() => flat.consume(ACTUAL))]);
  const budget = executionBudget(WIDE);
  rows.push([
    "a ledger with limits below another",
    perCall(() => new ExecutionTracker(budget, { parent: flat })),
  ]);
  rows.push(["a ledger without limits below another", perCall(() => flat.child({}, "helper"))]);

  await estimateTokens({ messages: [] });
  for (const length of [10, 10_000]) {
    rows.push([`estimateTokens, one new message, history ${length}`, perNewMessage(length, estimateTokens)]);
    rows.push([`plain length / 4 over all of it, history ${length}`, perNewMessage(length, quarter)]);
  }
  rows.push(["estimateTokens, one new message of 2 kB", perNewMessage(10, estimateTokens, report)]);
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  const newest = ({ messages }: ModelRequest): number => countTokens(textOf(messages.at(-1) ?? message(0)));
  rows.push(["gpt-tokenizer over the same", perNewMessage(10, newest, report)]);

  const meter = new ModelMeter({ prices: { large: { input: 1, output: 4 } } });
  const info = { provider: "house", model: "large" };
  const estimate = await meter.estimate(info, { messages: [message(0)] });
  rows.push(["ModelMeter.estimate, a turn of one tool call", perTurn((ask) => meter.estimate(info, ask))]);
  const same = { messages: [message(0), message(1)] };
  rows.push(["ModelMeter.estimate, the same again", perCall(() => meter.estimate(info, same))]);
  const usage = { inputTokens: 20, outputTokens: 5 };
  rows.push(["ModelMeter.price", perCall(() => meter.price(info, usage, estimate))]);

  const pool = new FairPool({ concurrency: 1_000 });
  const limited = new FairPool({ concurrency: 1_000, requestsPerMinute: 1e9, tokensPerMinute: 1e12 });
  const request = { priority: Priority.NORMAL, tokens: 1_000 };
  let running = 0;
  rows.push(["plain semaphore: running++, running--", perCall(() => running++ - running--)]);
  rows.push(["FairPool acquire and release, concurrency", perCall(() => permit(pool, request))]);
  rows.push(["FairPool acquire and release, all three limits", perCall(() => permit(limited, request))]);
  rows.push(["FairPool, 10,000 waiting, per call", await contended(10_000)]);

  console.log(`resources (best of ${ROUNDS} rounds)`);
  for (const [what, figure] of rows) console.log(`  ${what.padEnd(50)}${figure.padStart(12)}`);
}

const WIDE = { maxTokens: 1e15, maxCostUsd: 9e6, maxTurns: 1e15, maxToolCalls: 1e15 };

/** A ledger with `depth - 1` ancestors. Each has all limits, set so high that none ever refuses. */
function chain(depth: number): ExecutionTracker {
  let ledger = new ExecutionTracker(WIDE);
  for (let level = 1; level < depth; level++) ledger = ledger.child(WIDE, `level ${level}`);
  return ledger;
}

function message(n: number): ChatMessage {
  return {
    role: "user",
    content: `Message ${n}: an agent near its limit is told so, and gets one last turn.`,
  };
}

/** What a tool may return: prose, of which no two are the same. */
function report(n: number): ChatMessage {
  const prose = `Report ${n}: sensor prices fell by ${n % 10}.5 % while demand in Northern Europe rose; see table ${n}, "deliveries". `;
  return { role: "user", content: prose.repeat(20) };
}

/** Times whole conversations of 50 turns, each a tool call and its result, and subtracts the time to build the messages. */
function perTurn(estimate: (request: ModelRequest) => unknown): string {
  const turns = 50;
  const conversations = CALLS / turns / 10;
  const talk = (each: (request: ModelRequest) => unknown): number => {
    const start = performance.now();
    for (let n = 0; n < conversations; n++) {
      const messages = [message(0)];
      for (let turn = 0; turn < turns; turn++) {
        const id = `c${turn}`;
        messages.push(
          { role: "assistant", content: "", toolCalls: [{ id, name: "inc", arguments: `{"n":${turn}}` }] },
          { role: "tool", toolCallId: id, name: "inc", content: String(turn + 1) },
        );
        each({ messages });
      }
    }
    return performance.now() - start;
  };
  let best = Infinity;
  let bare = Infinity;
  for (let round = 0; round < ROUNDS * 3; round++) {
    best = Math.min(best, talk(estimate));
    bare = Math.min(
      bare,
      talk(({ messages }) => messages.length),
    );
  }
  return nanoseconds((best - bare) / conversations / turns);
}

/** A conversation that grows by one message per turn. Only the estimate of the grown list is timed. */
function perNewMessage(
  length: number,
  estimate: (request: ModelRequest) => unknown,
  make: (n: number) => ChatMessage = message,
): string {
  const turns = 50;
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const messages = Array.from({ length }, (_, n) => make(n));
    estimate({ messages });
    let spent = 0;
    for (let turn = 0; turn < turns; turn++) {
      messages.push(make(messages.length));
      const start = performance.now();
      estimate({ messages });
      spent += performance.now() - start;
    }
    best = Math.min(best, spent / turns);
  }
  return nanoseconds(best);
}

function quarter({ messages }: ModelRequest): number {
  let characters = 0;
  for (const { content } of messages) characters += content.length;
  return characters / 4;
}

function permit(pool: FairPool, request: Parameters<FairPool["acquire"]>[0]): void {
  const got = pool.acquire(request);
  if ("release" in got) got.release();
  else throw new Error("it had to wait");
}

async function contended(waiting: number): Promise<string> {
  const priorities = [Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL];
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const pool = new FairPool({ concurrency: 1 });
    const holder = await pool.acquire({ priority: Priority.NORMAL });
    const start = performance.now();
    const calls = Array.from({ length: waiting }, async (_, n) => {
      const got = await pool.acquire({ priority: priorities[n % 4] ?? Priority.NORMAL });
      got.release();
    });
    holder.release();
    await Promise.all(calls);
    best = Math.min(best, performance.now() - start);
  }
  return nanoseconds(best / waiting);
}

function perCall(act: () => unknown): string {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let n = 0; n < CALLS; n++) act();
    best = Math.min(best, performance.now() - start);
  }
  return nanoseconds(best / CALLS);
}

function nanoseconds(milliseconds: number): string {
  return `${(milliseconds * 1e6).toFixed(milliseconds < 1e-5 ? 1 : 0)} ns`;
}
