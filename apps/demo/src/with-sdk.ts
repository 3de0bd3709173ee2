import type { Agent, LLMClient } from "@ravi/kernel";
import { agent, start, startResume, team } from "@ravi/sdk";
import type { Assignment, Parts, Started } from "./compose.ts";
import { ANALYST, ARCHIVIST, FACT_CHECKER, LEAD, RESEARCHER, type Role, WRITER } from "./roles.ts";
import { calculate, read, search } from "./tools.ts";

/** The same as `startByHand`, with the sdk, which adds the headcount, the ledger, the meter and the retries itself. */
export function startWithSdk(parts: Parts, assignment: Assignment): Started {
  const { journal, hooks, prices } = parts;
  const lead = buildTeam(parts.model);
  const handle =
    "resume" in assignment
      ? startResume(assignment.resume, { agents: lead, journal, hooks, prices })
      : start(lead, assignment.question, {
          budget: { usd: null, tokens: null, ...parts.limit, turns: 100, seconds: 600, toolCalls: null },
          tree: { agents: parts.maxAgents, depth: 3 },
          journal,
          hooks,
          prices,
        });
  return {
    events: () => handle.events(),
    result: handle.result.then((result) => ({ ...result, agents: result.tree.agents() })),
    suspend: async () => void (await handle.suspend()),
  };
}

function buildTeam(model: LLMClient): Agent {
  const of = ({ name, description, instructions }: Role) => ({
    name,
    description,
    instructions,
    model,
    settings: { maxOutputTokens: 400 },
  });
  const hired = ({ priority, executionBudget }: Role, who: Agent) => ({
    agent: who,
    priority,
    budget: { toolCalls: executionBudget?.maxToolCalls },
    onFull: "queue" as const,
  });

  const factChecker = agent({ ...of(FACT_CHECKER), tools: [read] });
  const researcher = team({
    ...of(RESEARCHER),
    tools: [search, read, calculate],
    members: [hired(FACT_CHECKER, factChecker)],
  });
  return team({
    ...of(LEAD),
    members: [
      hired(RESEARCHER, researcher),
      hired(ARCHIVIST, agent({ ...of(ARCHIVIST), tools: [search, read] })),
      hired(ANALYST, agent({ ...of(ANALYST), tools: [read, calculate] })),
      hired(WRITER, agent(of(WRITER))),
    ],
  });
}
