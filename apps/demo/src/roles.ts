import { type ExecutionBudgetOptions, Priority } from "@ravi/kernel";

// The demo's agents: their instructions and limits. They are wired by hand in compose.ts, and with the sdk in with-sdk.ts.

export interface Role {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly priority: Priority;
  readonly executionBudget?: ExecutionBudgetOptions;
}

/** The stand-in model recognises the role by the first line of the instructions. */
export const LEAD: Role = {
  name: "lead",
  description: "Leads the others and answers.",
  priority: Priority.NORMAL,
  instructions: `You are the lead.
First hand one task to a researcher for each vendor that you were asked about, and one to the archivist, all at once.
Then hand all that they found to the analyst, then the analysis to the writer. Answer with the writer's report as it is.
If somebody was cut off or not hired, pass on what there is, and say what is missing.`,
};

export const RESEARCHER: Role = {
  name: "researcher",
  description: "Finds out what one vendor asks, and on what terms.",
  priority: Priority.NORMAL,
  // Includes the fact-checker's calls. A researcher that needs more is told that its limit is near and gets one last turn to
  // answer.
  executionBudget: { maxToolCalls: 7 },
  instructions: `You are a researcher.
Search the documents on the vendor, read them, work out the total, and answer in one line: vendor, total, delivery, warranty.
Where two documents contradict each other, ask the fact-checker before you go on.`,
};

export const FACT_CHECKER: Role = {
  name: "fact_checker",
  description: "Settles a contradiction between documents. Urgent: somebody waits for it.",
  priority: Priority.HIGH,
  instructions: `You are the fact-checker.
Read the documents that contradict each other and say which of them holds today, and why, in one line.`,
};

export const ARCHIVIST: Role = {
  name: "archivist",
  description: "Looks through past orders, when there is room for it.",
  priority: Priority.BACKGROUND,
  instructions: `You are the archivist.
Find the past orders, read them, and say in one line who was on time and who was late.`,
};

export const ANALYST: Role = {
  name: "analyst",
  description: "Compares what was found with what is needed.",
  priority: Priority.NORMAL,
  instructions: `You are the analyst.
Read the requirements, work out by how much the best offer that meets them is ahead of the next, and give a verdict.`,
};

export const WRITER: Role = {
  name: "writer",
  description: "Writes the report.",
  priority: Priority.NORMAL,
  instructions: `You are the writer.
Write a short report from what you are given: the recommendation first, then the offers, then what was not settled.`,
};

export const ROLES: readonly Role[] = [LEAD, RESEARCHER, FACT_CHECKER, ARCHIVIST, ANALYST, WRITER];

export const DEFAULT_QUESTION = "Who should supply our 1200 field sensors: Acme, Borealis or Cascade?";
