import fc from "fast-check";
import { expect, test } from "vitest";
import type { TreePorts } from "../src/root/tree.ts";
import { childLaunch, QueueHeadcount, rootLaunch, TurnLedger } from "./fakes.ts";
import { admission, over, PORTS, StoredTree } from "./tree.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 150;
const MOST_AGENTS = 4;
const MOST_TURNS = 5;

type Command =
  | { readonly kind: "hire"; readonly by: number; readonly queue: boolean }
  | {
      readonly kind: "call";
      readonly by: number;
      readonly end: "settle" | "crash" | "withdraw" | "lost answer";
    }
  | { readonly kind: "over"; readonly by: number };

const commands = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("hire" as const), by: fc.nat(6), queue: fc.boolean() }),
    fc.record({
      kind: fc.constant("call" as const),
      by: fc.nat(6),
      end: fc.constantFrom("settle" as const, "crash" as const, "withdraw" as const, "lost answer" as const),
    }),
    fc.record({ kind: fc.constant("over" as const), by: fc.nat(6) }),
  ),
  // Without a size most scripts are short, and some faults need many calls: a planted one was missed by 2,000 of them.
  { maxLength: 50, size: "max" },
);

/** Plays it and counts by itself: who runs, and what was paid. Throws where the root lets too much happen. */
async function play(script: readonly Command[], ports: TreePorts): Promise<void> {
  const launch = rootLaunch({ maxAgents: MOST_AGENTS, maxTurns: MOST_TURNS });
  const tree = await StoredTree.start(launch, ports);
  const running = new Set(["run"]);
  let paid = 0;
  let lane = 0;
  let seen = 1;
  const look = (): void => {
    for (; seen < tree.launched.length; seen++) running.add(tree.launched[seen]?.execId ?? "");
    expect(running.size).toBeLessThanOrEqual(MOST_AGENTS);
    expect(paid).toBeLessThanOrEqual(MOST_TURNS);
  };
  for (const [at, command] of script.entries()) {
    const living = [...running];
    const execId = living[command.by % living.length] ?? "run";
    lane++;
    if (command.kind === "hire") {
      const child = `${execId}/hire:a#${at}`;
      await tree.say("hire", {
        execId,
        lane,
        key: `hire:a#${at}`,
        agentId: `a/${at}`,
        priority: null,
        launch: childLaunch(launch, child, `a/${at}`),
        budget: null,
        onFull: command.queue ? "queue" : "deny",
      });
    } else if (command.kind === "over" && execId !== "run") {
      running.delete(execId);
      await tree.say("over", over(execId));
    } else if (command.kind === "call") {
      const message = admission(execId, lane, `llm#${at}`, `n${at}`);
      let answer = await tree.say("admit", message);
      if (command.end === "lost answer") answer = await tree.say("admit", message);
      if (answer.verdict !== "go" || answer.reserved === undefined) continue;
      if (command.end === "withdraw") {
        await tree.say("withdraw", { execId, key: message.key, nonce: message.nonce });
        continue;
      }
      paid++;
      // After a crash nobody settles; the money stays held, and is charged when the execution is over.
      if (command.end !== "crash") {
        await tree.say("settle", {
          execId,
          lane: lane + 1,
          settle: [{ id: answer.reserved, actual: { turns: 1 } }],
        });
        lane++;
      }
    }
    look();
  }
  for (const execId of [...running].toReversed()) {
    running.delete(execId);
    await tree.say("over", over(execId));
  }
  expect(tree.state.open).toEqual({});
  expect(tree.state.execs["run"]?.own.turns).toBe(paid);
}

test("T2, T3: over random trees no cap is passed, nothing is lost between two messages, and nothing is left open", async () => {
  await fc.assert(
    fc.asyncProperty(commands, (script) => play(script, PORTS)),
    { numRuns: RUNS },
  );
});

class OpenLedger extends TurnLedger {
  override reserve(): ReturnType<TurnLedger["reserve"]> {
    return super.reserve({ turns: 0 });
  }
}

test.each<[bug: string, ports: TreePorts]>([
  ["seats that are not restored", { ...PORTS, headcount: (root) => new QueueHeadcount(root) }],
  ["money that is not held", { ...PORTS, ledger: (root) => new OpenLedger(root.executionBudget) }],
])("T2, T3: %s are caught", async (_, ports) => {
  const found = await fc.check(
    fc.asyncProperty(commands, (script) => play(script, ports)),
    { numRuns: 200 },
  );
  expect(found.failed).toBe(true);
});
