import { parseArgs } from "node:util";
import { addUsage, type AgentId, errorToJSON, NO_USAGE, type RunEvent, type Usage } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { buildTeam } from "./team.ts";

const HELP = `demo: a lead hires three researchers, who read notes and calculate, and compares what they found.

  --question TEXT   what to ask (default: "Who is the cheapest for 1,200 sensors?")
  --json            one JSON object on standard output, and nothing else
  --help            this text

The models are stand-ins that follow a script: no key is needed and nothing is spent. The tools and the rules are real.
Exit codes: 0 completed, 2 partial, 1 failed, 130 interrupted.`;

interface Spent {
  calls: number;
  usage: Usage;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      question: { type: "string", default: "Who is the cheapest for 1,200 sensors?" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort("interrupted by Ctrl-C"));

  // One headcount and one ledger for the whole tree: at most four agents at once, forty model calls in all.
  await using runtime = new Runtime({
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  });
  if (!values.json) {
    console.log(
      `question: ${values.question}\n(the models are scripted stand-ins; the tools and the rules are real)\n`,
    );
  }
  const handle = runtime.run(buildTeam(), values.question, {
    signal: stop.signal,
    spawnBudget: { maxAgents: 4, maxDepth: 1 },
    executionBudget: { maxTurns: 40, deadlineS: 60 },
  });
  const spent = new Map<AgentId, Spent>();
  for await (const event of handle.events()) {
    count(spent, event);
    const line = describe(event);
    if (!values.json && line !== undefined) console.log(line);
  }
  const { runId, status, output, error } = await handle.result;
  const agents = [...spent].map(([id, { calls, usage }]) => ({ id, calls, usage }));
  if (values.json) console.log(JSON.stringify({ runId, status, output, agents }));
  else console.log(`\n${output}\n\n${table(agents)}`);
  if (error !== undefined) console.error(`demo: ${error.message}`);
  return EXIT_CODES[status];
}

const EXIT_CODES = { completed: 0, partial: 2, suspended: 3, failed: 1, cancelled: 130 } as const;

function count(spent: Map<AgentId, Spent>, { agentId, event }: RunEvent): void {
  if (event.type !== "usage") return;
  const before = spent.get(agentId) ?? { calls: 0, usage: NO_USAGE };
  spent.set(agentId, { calls: before.calls + 1, usage: addUsage(before.usage, event.usage) });
}

function describe({ agentId, event }: RunEvent): string | undefined {
  if (event.type !== "toolCall") return undefined;
  return `${agentId.padEnd(14)} ${event.call.name} ${event.call.arguments}`;
}

function table(agents: readonly { id: AgentId; calls: number; usage: Usage }[]): string {
  const rows = agents.map(({ id, calls, usage }) => [
    id,
    String(calls),
    String(usage.inputTokens),
    String(usage.outputTokens),
  ]);
  return [["agent", "model calls", "tokens in", "tokens out"], ...rows]
    .map(([id = "", ...numbers]) => id.padEnd(16) + numbers.map((number) => number.padStart(12)).join(""))
    .join("\n");
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`demo: ${errorToJSON(error).message}`);
  process.exitCode = 1;
}
