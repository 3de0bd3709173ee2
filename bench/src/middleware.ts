import {
  type ChatContext,
  type LLMClient,
  type ModelResponse,
  NO_HOOKS,
  RunMeta,
  systemClock,
} from "@ravi/kernel";
import { MiddlewarePipeline, piiRedaction, wrapModel } from "@ravi/middleware";

// What layers cost around an async call that does nothing, and what redaction costs per 100 kB of text.

const CALLS = 50_000;
const ROUNDS = 9;

const response: ModelResponse = { message: { role: "assistant", content: "ok" }, finishReason: "stop" };
const model: LLMClient = {
  id: "fake",
  info: { provider: "fake", model: "fake" },
  generate: () => Promise.resolve(response),
};

export async function middleware(): Promise<void> {
  await layers();
  await redaction();
}

type ChatLayer = (context: ChatContext, next: () => Promise<void>) => Promise<void>;

const LAYERS: Readonly<Record<string, ChatLayer>> = {
  "(_, next) => next()": (_context, next) => next(),
  "await next()": async (_context, next) => {
    await next();
  },
};

/** A pipeline compared with async functions that call each other, the least that as many layers can cost. */
async function layers(): Promise<void> {
  const context = chatContext();
  const core = async (): Promise<void> => {
    context.result = response;
  };
  const rows: string[][] = [["layers", "plain async calls", "pipeline", "ratio", "per layer"]];
  for (const [what, layer] of Object.entries(LAYERS)) {
    for (const count of [1, 3, 10]) {
      const pipeline = new MiddlewarePipeline<ChatContext>(Array.from({ length: count }, () => layer));
      let plain = core;
      for (let at = 0; at < count; at++) {
        const inner = plain;
        plain = () => layer(context, inner);
      }
      const [byHand, byPipeline] = await alternate(plain, () => pipeline.run(context, core), CALLS);
      rows.push([
        `${count} of ${what}`,
        `${(byHand * 1e6).toFixed(0)} ns`,
        `${(byPipeline * 1e6).toFixed(0)} ns`,
        `${(byPipeline / byHand).toFixed(1)}×`,
        `${(((byPipeline - byHand) / count) * 1e6).toFixed(0)} ns`,
      ]);
    }
  }
  print("a pipeline around a call", rows);
}

const SENTENCE =
  "The quick brown fox (12) jumps over the lazy dog, says alice@example.com; call +49 171 1234567. ";

const TEXTS: Readonly<Record<string, string>> = {
  "ordinary text": SENTENCE,
  "one letter": "a",
  "one digit": "4",
  "e-mail beginnings": "a@",
  "e-mail locals at their limit": `${"a".repeat(64)}@`,
  "card beginnings": "4111 ",
  "phone beginnings": "+1 ",
  "address beginnings": "fe80:1:2:3:4:5:6:",
  "account beginnings": "DE89 3704 0044 ",
  "token headers": `eyJ${"a".repeat(510)} `,
  "key beginnings": "sk-",
  "key block beginnings": "-----BEGIN ",
};

async function redaction(): Promise<void> {
  const plain = wrapModel(model, []);
  const careful = wrapModel(model, [piiRedaction({ sides: "input" })]);
  const rows: string[][] = [["100 kB of", "redaction"]];
  for (const [name, unit] of Object.entries(TEXTS)) {
    const content = unit.repeat(Math.ceil(100_000 / unit.length)).slice(0, 100_000);
    const request = { messages: [{ role: "user", content }] } as const;
    const [without, withRedaction] = await alternate(
      () => plain.generate(request),
      () => careful.generate(request),
      5,
    );
    rows.push([name, `${(withRedaction - without).toFixed(1)} ms`]);
  }
  print("piiRedaction of a request (all kinds; target of T16: 50 ms)", rows);
}

/** Milliseconds per call of each function: the median of alternating rounds. */
async function alternate(
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
  calls: number,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let round = -2; round < ROUNDS; round++) {
    for (const [at, call] of [first, second].entries()) {
      const began = performance.now();
      for (let done = 0; done < calls; done++) await call();
      // The first rounds warm up.
      if (round >= 0) times[at]?.push((performance.now() - began) / calls);
    }
  }
  return [median(times[0]), median(times[1])];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function chatContext(): ChatContext {
  const meta = RunMeta.standalone();
  return {
    agentName: "bench",
    runId: meta.runId,
    meta,
    hooks: NO_HOOKS,
    clock: systemClock,
    signal: meta.cancellation.signal,
    systemInstructions: "",
    model,
    request: { messages: [] },
    result: undefined,
    call: (judge, request) => judge.generate(request),
    addTransform: () => {},
  };
}

function print(title: string, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  console.log(title);
  for (const row of rows) {
    console.log(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join("   ")}`,
    );
  }
  console.log();
}
