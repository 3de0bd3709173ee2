// Every text that a strategy sends to a model. Each strategy has an option `prompts` that replaces some of its own.

const SCORE = 'Answer with JSON alone: {"score": 0.0 to 1.0, "feedback": "what is wrong or missing"}.';

const selfRefine = Object.freeze({
  critique: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nCriticise the answer: what is wrong, missing or unclear? Answer with JSON alone: {"satisfied": true or false, "feedback": "what to change"}. Say true only when nothing should be changed.`,
  refine: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `Task:\n${task}\n\nYour answer:\n${answer}\n\nCriticism:\n${feedback}\n\nWrite the whole answer anew with the criticism heeded. Give the answer alone.`,
});

const reflexion = Object.freeze({
  attempt: ({ task, lessons }: { task: string; lessons: readonly string[] }): string =>
    lessons.length === 0 ? task : `${task}\n\nLessons from earlier attempts:\n${bullets(lessons)}`,
  evaluate: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nHow well does the answer do the task? ${SCORE}`,
  reflect: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `Task:\n${task}\n\nAn attempt that was not good enough:\n${answer}\n\nWhat was said of it:\n${feedback}\n\nIn one or two sentences: what must the next attempt do differently? Give the lesson alone.`,
});

const treeOfThoughts = Object.freeze({
  propose: ({ task, path, count }: { task: string; path: readonly string[]; count: number }): string =>
    `Task:\n${task}\n\n${pathText(path)}Propose ${count} different next thoughts, each one step further. Answer with a JSON list of ${count} texts, and nothing else.`,
  score: ({ task, path }: { task: string; path: readonly string[] }): string =>
    `Task:\n${task}\n\n${pathText(path)}How promising is this way of thinking? Answer with JSON alone: {"score": 0.0 to 1.0}.`,
  answer: ({ task, path }: { task: string; path: readonly string[] }): string =>
    `Task:\n${task}\n\n${pathText(path)}Give the final answer, from these thoughts.`,
});

const planAndExecute = Object.freeze({
  plan: ({ task, tools, most }: { task: string; tools: string; most: number }): string =>
    `Task:\n${task}\n\n${tools === "" ? "" : `Tools that a step may use:\n${tools}\n\n`}Make a plan of at most ${most} steps. Answer with a JSON list of texts, one for each step, and nothing else.`,
  step: ({ task, step, done }: { task: string; step: string; done: string }): string =>
    `The whole task:\n${task}\n\n${done === "" ? "" : `Done so far:\n${done}\n\n`}Do this step, and only this one, and say what came of it:\n${step}`,
  answer: ({ task, done }: { task: string; done: string }): string =>
    `Task:\n${task}\n\nWhat was done:\n${done}\n\nGive the final answer to the task.`,
});

const rewoo = Object.freeze({
  plan: ({ task, tools, most }: { task: string; tools: string; most: number }): string =>
    `Task:\n${task}\n\nTools:\n${tools}\n- LLM: answers a question in words, from its input alone\n\nMake the whole plan now, of at most ${most} steps; nobody will ask you again before the end. The result of step E1 is written #E1 in the input of a later step. Steps that do not need each other run at once. Answer with JSON alone: {"steps": [{"id": "E1", "tool": "name", "input": {}}]}.`,
  think: ({ task, input }: { task: string; input: string }): string =>
    `This is one step of a larger task (${task}). Answer it shortly:\n${input}`,
  solve: ({ task, evidence }: { task: string; evidence: string }): string =>
    `Task:\n${task}\n\nEvidence:\n${evidence === "" ? "(none)" : evidence}\n\nGive the final answer from the evidence. Where evidence is missing, say so.`,
});

const router = Object.freeze({
  route: ({ task, routes }: { task: string; routes: string }): string =>
    `Who should answer this?\n\n${task}\n\nThere are:\n${routes}\n\nAnswer with JSON alone: {"route": "one of the names above", "confidence": 0.0 to 1.0}.`,
});

const supervisor = Object.freeze({
  system: ({ workers, spawns }: { workers: string; spawns: number }): string =>
    `You lead a team. Hand tasks to them with \`delegate\`; they see nothing but the task that you write. When one worker's answer is the whole answer, pass it on unchanged with \`forward_message\`; otherwise answer from what they found.${spawns > 0 ? ` With \`spawn\` you can make up to ${spawns} workers of your own.` : ""}\n\nYour team:\n${workers}`,
});

const actorCritic = Object.freeze({
  revise: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `${task}\n\nYour last answer:\n${answer}\n\nA critic said:\n${feedback}\n\nWrite the whole answer anew with that heeded.`,
  criticise: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nJudge the answer strictly. ${SCORE}`,
});

const debate = Object.freeze({
  open: ({ task, stance }: { task: string; stance: string }): string =>
    `${task}${stance === "" ? "" : `\n\nArgue as: ${stance}.`}\n\nGive your reasons in short, then a last line "Answer: " with your answer.`,
  rebut: ({
    task,
    stance,
    others,
    own,
  }: {
    task: string;
    stance: string;
    others: string;
    own: string;
  }): string =>
    `${task}${stance === "" ? "" : `\n\nArgue as: ${stance}.`}\n\nYou said:\n${own}\n\nThe others said:\n${others}\n\nSay where they are right and where not, then a last line "Answer: " with your answer now.`,
  vote: ({ task, answers }: { task: string; answers: string }): string =>
    `${task}\n\nThese answers were given:\n${answers}\n\nWhich is the best? Answer with JSON alone: {"vote": "its number"}.`,
  judge: ({ task, answers }: { task: string; answers: string }): string =>
    `${task}\n\nThese answers came out of a debate:\n${answers}\n\nDecide, and give the final answer alone.`,
});

const swarm = Object.freeze({
  turn: ({ task, peers, trail }: { task: string; peers: string; trail: string }): string =>
    `${task}${trail === "" ? "" : `\n\nWhat happened so far:\n${trail}`}\n\nAnswer it yourself if you can. If a colleague should go on, write nothing but one line: "HANDOFF name: what to do". Your colleagues:\n${peers}`,
  unknown: ({ name, peers }: { name: string; peers: string }): string =>
    `There is nobody called ${name}. Your colleagues:\n${peers}`,
  last: ({ task, trail }: { task: string; trail: string }): string =>
    `${task}${trail === "" ? "" : `\n\nWhat happened so far:\n${trail}`}\n\nNobody else can take it now. Give your best answer yourself, and do not hand it on.`,
});

const blackboard = Object.freeze({
  next: ({ task, board, workers }: { task: string; board: string; workers: string }): string =>
    `Task:\n${task}\n\nThe board:\n${board === "" ? "(empty)" : board}\n\nWho should write next?\n${workers}\n\nAnswer with JSON alone: {"next": "one of the names above"}, or {"done": true} when the board has all that is needed.`,
  contribute: ({ task, board }: { task: string; board: string }): string =>
    `Task:\n${task}\n\nThe board:\n${board === "" ? "(empty)" : board}\n\nAdd what you know and what is not there yet. Write PASS when you have nothing to add, or "SOLUTION: " and the whole answer when the task is solved.`,
  answer: ({ task, board }: { task: string; board: string }): string =>
    `Task:\n${task}\n\nThe board:\n${board === "" ? "(empty)" : board}\n\nGive the final answer from the board.`,
});

/** The default prompts of all strategies. */
export const PROMPTS = Object.freeze({
  selfRefine,
  reflexion,
  treeOfThoughts,
  planAndExecute,
  rewoo,
  router,
  supervisor,
  actorCritic,
  debate,
  swarm,
  blackboard,
});

/** The prompts of each strategy, by its name. */
export type Prompts = typeof PROMPTS;

/** Replacements for some of a strategy's prompts; the others keep their default. */
export type OwnPrompts<S extends keyof Prompts> =
  | { readonly [Name in keyof Prompts[S]]?: Prompts[S][Name] | undefined }
  | undefined;

function bullets(texts: readonly string[]): string {
  return texts.map((text) => `- ${text}`).join("\n");
}

function pathText(path: readonly string[]): string {
  return path.length === 0
    ? ""
    : `Thoughts so far:\n${path.map((text, at) => `${at + 1}. ${text}`).join("\n")}\n\n`;
}
