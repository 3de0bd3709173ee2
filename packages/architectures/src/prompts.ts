// Every text that a strategy sends to a model. Each strategy has an option `prompts` that replaces some of its own.

const SCORE = 'Reply with JSON only: {"score": 0.0 to 1.0, "feedback": "what is wrong or missing"}.';

const selfRefine = Object.freeze({
  critique: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nCriticise the answer: what is wrong, missing or unclear? Reply with JSON only: {"satisfied": true or false, "feedback": "what to change"}. Say true only when nothing should be changed.`,
  refine: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `Task:\n${task}\n\nYour answer:\n${answer}\n\nCriticism:\n${feedback}\n\nRewrite the whole answer so that it addresses the criticism. Reply with the answer only.`,
});

const reflexion = Object.freeze({
  attempt: ({ task, lessons }: { task: string; lessons: readonly string[] }): string =>
    lessons.length === 0 ? task : `${task}\n\nLessons from earlier attempts:\n${bullets(lessons)}`,
  evaluate: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nHow well does the answer do the task? ${SCORE}`,
  reflect: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `Task:\n${task}\n\nAn attempt that was not good enough:\n${answer}\n\nFeedback on it:\n${feedback}\n\nIn one or two sentences: what must the next attempt do differently? Reply with the lesson only.`,
});

const treeOfThoughts = Object.freeze({
  propose: ({ task, path, count }: { task: string; path: readonly string[]; count: number }): string =>
    `Task:\n${task}\n\n${pathText(path)}Propose ${count} different next thoughts, each one step further. Reply with a JSON array of ${count} strings and nothing else.`,
  score: ({ task, path }: { task: string; path: readonly string[] }): string =>
    `Task:\n${task}\n\n${pathText(path)}How promising is this line of thought? Reply with JSON only: {"score": 0.0 to 1.0}.`,
  answer: ({ task, path }: { task: string; path: readonly string[] }): string =>
    `Task:\n${task}\n\n${pathText(path)}Give the final answer, from these thoughts.`,
});

const planAndExecute = Object.freeze({
  plan: ({ task, tools, most }: { task: string; tools: string; most: number }): string =>
    `Task:\n${task}\n\n${tools === "" ? "" : `Tools that a step may use:\n${tools}\n\n`}Make a plan of at most ${most} steps. Reply with a JSON array of strings, one for each step, and nothing else.`,
  step: ({ task, step, done }: { task: string; step: string; done: string }): string =>
    `The whole task:\n${task}\n\n${done === "" ? "" : `Done so far:\n${done}\n\n`}Do this step and only this one, and report the result:\n${step}`,
  answer: ({ task, done }: { task: string; done: string }): string =>
    `Task:\n${task}\n\nWhat was done:\n${done}\n\nGive the final answer to the task.`,
});

const rewoo = Object.freeze({
  plan: ({ task, tools, most }: { task: string; tools: string; most: number }): string =>
    `Task:\n${task}\n\nTools:\n${tools}\n- LLM: answers a question in words, from its input only\n\nMake the whole plan now, with at most ${most} steps; it cannot be changed later. The result of step E1 is written #E1 in the input of a later step. Steps that do not depend on each other run at the same time. Reply with JSON only: {"steps": [{"id": "E1", "tool": "name", "input": {}}]}.`,
  think: ({ task, input }: { task: string; input: string }): string =>
    `This is one step of a larger task (${task}). Answer it briefly:\n${input}`,
  solve: ({ task, evidence }: { task: string; evidence: string }): string =>
    `Task:\n${task}\n\nEvidence:\n${evidence === "" ? "(none)" : evidence}\n\nGive the final answer from the evidence. Where evidence is missing, say so.`,
});

const router = Object.freeze({
  route: ({ task, routes }: { task: string; routes: string }): string =>
    `Who should answer this?\n\n${task}\n\nThe candidates:\n${routes}\n\nReply with JSON only: {"route": "one of the names above", "confidence": 0.0 to 1.0}.`,
});

const supervisor = Object.freeze({
  system: ({ workers, spawns }: { workers: string; spawns: number }): string =>
    `You lead a team. Give tasks to its workers with \`delegate\`; a worker sees only the task that you write. If one worker's answer is the whole answer, pass it on unchanged with \`forward_message\`; otherwise answer from what the workers found.${spawns > 0 ? ` With \`spawn\` you can create up to ${spawns} new workers.` : ""}\n\nYour team:\n${workers}`,
});

const actorCritic = Object.freeze({
  revise: ({ task, answer, feedback }: { task: string; answer: string; feedback: string }): string =>
    `${task}\n\nYour last answer:\n${answer}\n\nA critic said:\n${feedback}\n\nRewrite the whole answer so that it addresses this feedback.`,
  criticise: ({ task, answer }: { task: string; answer: string }): string =>
    `Task:\n${task}\n\nAnswer:\n${answer}\n\nJudge the answer strictly. ${SCORE}`,
});

const debate = Object.freeze({
  open: ({ task, stance }: { task: string; stance: string }): string =>
    `${task}${stance === "" ? "" : `\n\nArgue as: ${stance}.`}\n\nGive your reasons briefly, then a last line "Answer: " with your answer.`,
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
    `${task}${stance === "" ? "" : `\n\nArgue as: ${stance}.`}\n\nYou said:\n${own}\n\nThe others said:\n${others}\n\nSay where they are right and where they are wrong, then a last line "Answer: " with your current answer.`,
  vote: ({ task, answers }: { task: string; answers: string }): string =>
    `${task}\n\nThese answers were given:\n${answers}\n\nWhich is the best? Reply with JSON only: {"vote": "its number"}.`,
  judge: ({ task, answers }: { task: string; answers: string }): string =>
    `${task}\n\nThese answers came out of a debate:\n${answers}\n\nDecide, and reply with the final answer only.`,
});

const swarm = Object.freeze({
  turn: ({ task, peers, trail }: { task: string; peers: string; trail: string }): string =>
    `${task}${trail === "" ? "" : `\n\nWhat happened so far:\n${trail}`}\n\nAnswer it yourself if you can. If a colleague should take over, reply with nothing but one line: "HANDOFF name: what to do". Your colleagues:\n${peers}`,
  unknown: ({ name, peers }: { name: string; peers: string }): string =>
    `There is nobody called ${name}. Your colleagues:\n${peers}`,
  last: ({ task, trail }: { task: string; trail: string }): string =>
    `${task}${trail === "" ? "" : `\n\nWhat happened so far:\n${trail}`}\n\nNobody else can take over now. Give your best answer yourself, and do not hand it off.`,
});

const blackboard = Object.freeze({
  next: ({ task, board, workers }: { task: string; board: string; workers: string }): string =>
    `Task:\n${task}\n\nThe board:\n${board === "" ? "(empty)" : board}\n\nWho should write next?\n${workers}\n\nReply with JSON only: {"next": "one of the names above"}, or {"done": true} when the board has everything that is needed.`,
  contribute: ({ task, board }: { task: string; board: string }): string =>
    `Task:\n${task}\n\nThe board:\n${board === "" ? "(empty)" : board}\n\nAdd what you know that is not there yet. If you have nothing to add, reply with the single word PASS. If the task is solved, reply with "SOLUTION: " and the whole answer.`,
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
