import type { Agent, DelegateTool } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { loopAgent } from "./loop-agent.ts";
import { leadSays, researcherSays } from "./scripts.ts";
import { calculate, readNote } from "./tools.ts";

/** A lead and the researcher whom it hires, once for each vendor. */
export function buildTeam(): Agent {
  const researcher = loopAgent({
    name: "researcher",
    model: scriptedModel(researcherSays, { record: false }),
    instructions: "You find out what one vendor asks. Read the note, then calculate.",
    tools: [readNote, calculate],
  });
  const handoff: DelegateTool = {
    kind: "delegate",
    name: "handoff_researcher",
    description: "Gives a task to a researcher.",
    input: z.object({ task: z.string() }),
    hire: (args) => ({
      kind: "hire",
      agent: researcher,
      input: z.object({ task: z.string() }).parse(args).task,
    }),
  };
  return loopAgent({
    name: "lead",
    model: scriptedModel(leadSays, { record: false }),
    instructions: "You lead researchers. Ask one for each vendor, then compare.",
    tools: [handoff],
  });
}
