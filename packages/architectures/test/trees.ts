import { type Agent, type Architecture, type ModelRequest, type RunEvent, textOf } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import {
  ActorCritic,
  Blackboard,
  Debate,
  PlanAndExecute,
  ReAct,
  Reflexion,
  ReWOO,
  Router,
  SelfRefine,
  StrategyAgent,
  Supervisor,
  Swarm,
  TreeOfThoughts,
} from "@ravi/architectures";
import { type Answer, scriptedModel } from "@ravi/testing";
import { lookUp } from "./support.ts";

// A short run of each strategy, and its events as the README shows them.

type Call = { readonly name: string; readonly arguments: Record<string, string> };
const calls = (...toolCalls: Call[]): Answer => ({ toolCalls });
const LOOK = calls({ name: "look_up", arguments: { query: "x" } });

const worker = (name: string, ...script: Answer[]): Agent => {
  const { id, info, generate } = scriptedModel(script);
  return new StrategyAgent({ name, model: { id, info, generate }, architecture: new ReAct() });
};

interface Scene {
  readonly architecture: () => Architecture;
  readonly script: readonly Answer[] | ((request: ModelRequest) => Answer);
}

const asked = (request: ModelRequest): string => textOf(request.messages.at(-1) ?? { content: "" });

export const SCENES: Readonly<Record<string, Scene>> = {
  ReAct: { architecture: () => new ReAct(), script: [LOOK, "answer"] },
  SelfRefine: {
    architecture: () => new SelfRefine(),
    script: ["draft", '{"satisfied": false}', "better", '{"satisfied": true}'],
  },
  Reflexion: {
    architecture: () => new Reflexion(),
    script: ["try", '{"score": 0.4}', "a lesson", "try again", '{"score": 0.9}'],
  },
  TreeOfThoughts: {
    architecture: () => new TreeOfThoughts({ branch: 2, depth: 1, beam: 1 }),
    script: (request) =>
      asked(request).includes("Propose")
        ? '["a", "b"]'
        : asked(request).includes("promising")
          ? "0.5"
          : "answer",
  },
  PlanAndExecute: {
    architecture: () => new PlanAndExecute(),
    script: ["1. find it\n2. tell it", LOOK, "found", "told", "answer"],
  },
  ReWOO: {
    architecture: () => new ReWOO(),
    script: ["#E1 = look_up[x]\n#E2 = look_up[#E1]", "answer"],
  },
  Router: {
    architecture: () => new Router({ routes: { ann: worker("ann", "answer") } }),
    script: ['{"route": "ann", "confidence": 0.9}'],
  },
  Supervisor: {
    architecture: () => new Supervisor({ workers: { ann: worker("ann", "found") } }),
    script: [
      calls({ name: "delegate", arguments: { worker: "ann", task: "find it" } }),
      calls({ name: "forward_message", arguments: { worker: "ann" } }),
    ],
  },
  ActorCritic: {
    architecture: () => new ActorCritic(),
    script: ["try", '{"score": 0.5}', "better", '{"score": 0.95}'],
  },
  Debate: {
    architecture: () =>
      new Debate({
        debaters: { ann: worker("ann", "red", "red", "2"), bob: worker("bob", "blue", "blue", "2") },
      }),
    script: [],
  },
  Swarm: {
    architecture: () =>
      new Swarm({
        members: { ann: worker("ann", "HANDOFF bob: you know it"), bob: worker("bob", "answer") },
      }),
    script: [],
  },
  Blackboard: {
    architecture: () =>
      new Blackboard({ experts: { ann: worker("ann", "a clue"), bob: worker("bob", "SOLUTION: answer") } }),
    script: [],
  },
};

/** An agent that plays a scene. */
export function play(name: string): StrategyAgent {
  const scene = SCENES[name];
  if (scene === undefined) throw new TypeError(`no scene ${name}`);
  const { id, info, generate } = scriptedModel(scene.script);
  const model = { id, info, generate };
  return new StrategyAgent({ name: "agent", model, tools: [lookUp], architecture: scene.architecture() });
}

/** The events of a scene, one on each line, those of a worker indented. What models say is left out. */
export async function treeOf(name: string): Promise<string> {
  const lines: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.event.type !== "text") lines.push(lineOf(event));
  };
  const ctx = bareContext({ onEvent });
  await play(name).run(ctx, ctx.inbox("the task"));
  return lines.join("\n");
}

function lineOf({ execId, event }: RunEvent): string {
  const indent = "  ".repeat(execId.split("/hire:").length - 1);
  switch (event.type) {
    case "step":
      return `${indent}step ${event.step}`;
    case "toolCall":
      return `${indent}toolCall ${event.call.name}`;
    case "toolResult":
      return `${indent}toolResult ${event.name}`;
    case "handoff":
      return `${indent}handoff to ${event.to}`;
    case "progress":
      return `${indent}progress ${event.name} ${JSON.stringify(event.data)}`;
    default:
      return `${indent}${event.type}`;
  }
}
