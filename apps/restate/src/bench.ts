import { createServer } from "node:http2";
import * as restate from "@restatedev/restate-sdk";
import { ANSWER, callers } from "./bench-agents.ts";
import { compose } from "./compose.ts";
import { RestateServer } from "./server.ts";
import { meter } from "./team.ts";

// What a call costs on Restate: a step of the engine alone, the same entries written by hand, and a call through Ravi.
// node --conditions=@ravi/source src/bench.ts [calls of a run, 200] [steps to replay after a kill, 100000; 0 for none]

const STEPS = Number(process.argv[2] ?? 200);
const MANY = Number(process.argv[3] ?? 100_000);
const server = await RestateServer.start();
const json = { "content-type": "application/json" };
const post = async (path: string, body: unknown = null): Promise<unknown> => {
  const response = await fetch(`${server.ingress}/${path}`, {
    method: "POST",
    headers: json,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
};

/** Milliseconds between two steps, over all rounds. On a busy machine the median of many says more than one total. */
const times: Record<string, number[]> = {};
const stopwatch = (what: string): (() => void) => {
  const list = (times[what] ??= []);
  let last: number | undefined;
  return () => {
    const now = performance.now();
    if (last !== undefined) list.push(now - last);
    last = now;
  };
};

const counter = restate.object({
  name: "Counter",
  handlers: {
    admit: async (context: restate.ObjectContext, message: { key: string }): Promise<{ count: number }> => {
      const state = (await context.get<{ count: number; marks: string[] }>("state")) ?? {
        count: 0,
        marks: [],
      };
      const next = { count: state.count + 1, marks: [message.key] };
      context.set("state", next);
      return { count: next.count };
    },
  },
});
const hand = restate.workflow({
  name: "Hand",
  handlers: {
    run: async (context: restate.WorkflowContext, steps: number): Promise<void> => {
      const watch = stopwatch("hand");
      for (let n = 0; n < steps; n++) {
        watch();
        await context.run("llm", async () => {
          const admission = await post(`Counter/${context.key}/admit`, { key: `llm#${n}` });
          return { admission, response: ANSWER };
        });
      }
    },
  },
});
const raw = restate.workflow({
  name: "Raw",
  handlers: {
    run: async (
      context: restate.WorkflowContext,
      { steps, wait }: { steps: number; wait: boolean },
    ): Promise<void> => {
      const watch = wait ? () => {} : stopwatch("raw");
      for (let n = 0; n < steps; n++) {
        watch();
        await context.run("step", () => ANSWER);
      }
      if (wait) await context.promise<null>("go");
    },
    go: async (context: restate.WorkflowSharedContext): Promise<void> =>
      context.promise<null>("go").resolve(null),
  },
});
const { caller, lead } = callers((isRoot) => (isRoot ? stopwatch("ravi") : () => {}));

const others = createServer(
  restate.createEndpointHandler({ services: [counter, hand, raw], logger: () => {} }),
);
await new Promise<void>((resolve) => void others.listen(0, "127.0.0.1", resolve));
const address = others.address();
const runtime = compose({ ingress: server.ingress, admin: server.admin, agents: [caller, lead], meter });
const { port } = await runtime.listen({ host: "127.0.0.1", port: 0 });
await runtime.deploy(`http://127.0.0.1:${port}`);
await runtime.deploy(`http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0) : 0}`);

let runs = 0;
const timed = async (act: (id: string) => Promise<unknown>): Promise<number> => {
  const before = performance.now();
  await act(`bench-${++runs}`);
  return performance.now() - before;
};
const byRaw = (id: string): Promise<unknown> => post(`Raw/${id}/run`, { steps: STEPS, wait: false });
const byHand = (id: string): Promise<unknown> => post(`Hand/${id}/run`, STEPS);
const byRavi = async (runId: string): Promise<unknown> =>
  runtime.run(caller, String(STEPS), { runId, executionBudget: { maxCostUsd: 1e6 } }).result;

const show = (what: string, figure: string): void => console.log(`${what.padEnd(52)} ${figure}`);
for (const warm of [byRaw, byHand, byRavi]) await timed(warm);
for (const list of Object.values(times)) list.length = 0;
for (let round = 0; round < 3; round++) for (const way of [byRaw, byHand, byRavi]) await timed(way);
const median = (what: string): number => {
  const list = (times[what] ?? []).toSorted((a, b) => a - b);
  return list[list.length >> 1] ?? Number.NaN;
};
const [rawMs, handMs, raviMs] = [median("raw"), median("hand"), median("ravi")];
show(`one step of the engine alone (median of ${3 * (STEPS - 1)})`, `${rawMs.toFixed(2)} ms`);
show("admission and call, written by hand", `${handMs.toFixed(2)} ms`);
show(
  "ctx.llm of Ravi, with ledger and headcount",
  `${raviMs.toFixed(2)} ms, ${(raviMs / handMs).toFixed(2)}× by hand`,
);

for (const agents of [8, 32]) {
  const each = Math.ceil(STEPS / 4);
  const options = { executionBudget: { maxCostUsd: 1e6 }, spawnBudget: { maxAgents: agents + 1 } };
  const ms = await timed(
    async (runId) => runtime.run(lead, `${agents}x${each}`, { runId, ...options }).result,
  );
  show(
    `one root, ${agents} agents of ${each} calls each`,
    `${Math.round((agents * each * 1000) / ms)} admissions/s`,
  );
}

{
  const trees = 16;
  const each = Math.ceil(STEPS / 4);
  const ms = await timed(async (id) => {
    const options = { executionBudget: { maxCostUsd: 1e6 } };
    const handles = Array.from({ length: trees }, (_, n) =>
      runtime.run(caller, String(each), { runId: `${id}-${n}`, ...options }),
    );
    await Promise.all(handles.map(({ result }) => result));
  });
  show(
    `${trees} trees at once, one agent of ${each} calls each`,
    `${Math.round((trees * each * 1000) / ms)} calls/s`,
  );
}

if (MANY > 0) {
  const flows = Array.from({ length: 50 }, (_, n) => `many-${n}`);
  const steps = MANY / flows.length;
  const written = await timed(async () => {
    await Promise.all(flows.map((id) => post(`Raw/${id}/run/send`, { steps, wait: true })));
    for (;;) {
      const query =
        "SELECT count(*) AS n FROM sys_invocation WHERE target_service_name = 'Raw' AND target_service_key LIKE 'many-%' " +
        `AND journal_size >= ${2 * steps}`;
      const response = await fetch(`${server.admin}/query`, {
        method: "POST",
        headers: { ...json, accept: "application/json" },
        body: JSON.stringify({ query }),
      });
      const { rows } = (await response.json()) as { rows: { n: number }[] };
      if (rows[0]?.n === flows.length) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });
  show(`${MANY} steps in ${flows.length} runs were written in`, `${(written / 1000).toFixed(1)} s`);
  await server.kill();
  const up = await timed(() => server.up());
  const on = await timed(async () => {
    await Promise.all(flows.map((id) => post(`Raw/${id}/go`)));
    await Promise.all(
      flows.map(async (id) => {
        const response = await fetch(`${server.ingress}/restate/workflow/Raw/${id}/attach`);
        if (!response.ok) throw new Error(await response.text());
      }),
    );
  });
  show("the server, killed, takes requests again after", `${Math.round(up)} ms`);
  show("and all runs were replayed and over after another", `${(on / 1000).toFixed(1)} s`);
}
await runtime.close();
others.close();
await server.stop();
process.exit(0);
