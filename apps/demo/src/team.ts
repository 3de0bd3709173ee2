import type { Agent } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import { leadSays, researcherSays } from "./scripts.ts";
import { calculate, readNote } from "./tools.ts";

/** A lead and the researcher whom it hires, once for each vendor. */
export function buildTeam(): Agent {
  const researcher = new ReActAgent({
    name: "researcher",
    model: scriptedModel(researcherSays, { record: false }),
    instructions: "You find out what one vendor asks. Read the note, then calculate.",
    tools: [readNote, calculate],
    executionBudget: { maxTurns: 6 },
  });
  return new ReActAgent({
    name: "lead",
    model: scriptedModel(leadSays, { record: false }),
    instructions: "You lead researchers. Ask one for each vendor, then compare.",
    tools: [
      researcher.asDelegate({ name: "handoff_researcher", description: "Gives a task to a researcher." }),
    ],
  });
}
