import { InvalidValueError } from "../errors/errors.ts";

/**
 * Refuses a field that seems to be a misspelt one of the known fields: nobody would read it, and a guard would be missing without a word.
 * Only for a plain object, which may have fields of its own. A known field that it has is not missing, so `names` beside `name` is one
 * of its own. With `kind`, only fields of that type are looked at.
 */
export function checkSpelling(
  owner: string,
  value: object,
  known: readonly string[],
  kind?: "function",
): void {
  if (Object.getPrototypeOf(value) !== Object.prototype) return;
  const missing = known.filter((name) => Reflect.get(value, name) === undefined);
  for (const [name, field] of Object.entries<unknown>({ ...value })) {
    const meant = kind === undefined || typeof field === kind ? meantBy(name, missing) : undefined;
    if (meant === undefined || meant === name) continue;
    const expected = `no field of that name; known fields: ${known.join(", ")}; did you mean ${meant}?`;
    throw new InvalidValueError({ field: `${owner}.${name}`, value: field, expected });
  }
}

/** What other libraries call an option, and what it is called here. No spelling leads from one to the other. */
const ELSEWHERE: readonly (readonly [here: string, ...elsewhere: string[]])[] = [
  ["model", "llm"],
  ["instructions", "system", "systemPrompt", "prompt"],
  ["prompt", "instructions", "system", "systemPrompt"],
  ["input", "parameters", "inputSchema", "schema", "args"],
  ["execute", "func", "handler", "run", "invoke"],
  ["needsApproval", "requireApproval", "requiresApproval"],
  ["output", "outputType", "outputSchema", "responseFormat", "schema"],
  ["members", "agents", "subAgents", "handoffs", "workers"],
  ["subAgents", "agents", "members", "handoffs", "workers"],
  ["settings", "temperature", "topP", "maxTokens", "maxOutputTokens", "modelSettings"],
  ["maxSteps", "maxTurns", "maxIterations", "recursionLimit", "stopWhen"],
  ["askTimeoutS", "timeout", "timeoutMs", "timeoutS"],
  [
    "budget",
    "maxTurns",
    "maxSteps",
    "recursionLimit",
    "maxTokens",
    "maxCostUsd",
    "maxCost",
    "timeout",
    "timeoutMs",
  ],
  ["retry", "retries", "maxRetries"],
  ["onEvent", "onChunk", "onStepFinish"],
  ["hooks", "callbacks"],
  ["signal", "abortSignal"],
  ["sessionId", "threadId", "thread_id", "conversationId"],
  ["userId", "resourceId"],
  ["metadata", "tags", "context"],
];

/** The known name of what other libraries call `name`; undefined if nothing known is called so. */
export function calledHere(name: string, known: readonly string[]): string | undefined {
  return ELSEWHERE.find(([here, ...elsewhere]) => elsewhere.includes(name) && known.includes(here))?.[0];
}

/** The known name that `name` may be a misspelling of, the most similar one; undefined if it is unlike all of them. */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  for (let typos = 0; typos <= MOST_TYPOS; typos++) {
    const meant = known.find((each) => typos <= mostTypos(each) && isLike(lower, each.toLowerCase(), typos));
    if (meant !== undefined) return meant;
  }
  return undefined;
}

/** Each typo more is three times the work, so a long name gets no more of them. */
const MOST_TYPOS = 3;

/** Of a short name few letters make another word: `todos` is not meant to be `tools`. */
function mostTypos(name: string): number {
  return Math.min(MOST_TYPOS, Math.max(1, Math.floor(name.length / 4)));
}

/** Whether `a` becomes `b` if at most so many letters are added, removed or replaced, or neighbours swapped. */
function isLike(a: string, b: string, most: number): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const [restA, restB] = [a.slice(same), b.slice(same)];
  if (restA === restB) return true;
  if (most === 0) return false;
  const [nextA, nextB] = [restA.slice(1), restB.slice(1)];
  const isSwapped = restA[0] === restB[1] && restA[1] === restB[0];
  return (
    (isSwapped && isLike(nextA.slice(1), nextB.slice(1), most - 1)) ||
    isLike(nextA, nextB, most - 1) ||
    isLike(nextA, restB, most - 1) ||
    isLike(restA, nextB, most - 1)
  );
}
