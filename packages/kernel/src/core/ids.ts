import { InvalidValueError } from "../errors/errors.ts";
import type { Branded } from "./types.ts";

/** The name of an agent (`"lead"`), or of one hired instance of it (`"researcher/2"`). */
export type AgentId = Branded<"AgentId">;
/** The id of one run: a whole tree of agents, started by one `run()`. */
export type RunId = Branded<"RunId">;
/** The id of one agent's execution within a run: `run/hire:researcher#1`. */
export type ExecId = Branded<"ExecId">;
/** The id of a conversation, which may span many runs. */
export type SessionId = Branded<"SessionId">;

/** A topic to publish to or to subscribe to. */
export interface TopicId {
  readonly type: string;
  readonly source: string;
}

const MAX_ID_LENGTH = 512;

/**
 * Begins the name of every agent that a model has defined. Permissions, conversations and workers go by names: without it, a model could
 * give its helper the name of another agent, and so what that one may do.
 */
export const HELPER_PREFIX = "helper:";

/**
 * Makes an agent's id, `name` or `name/key`. Throws an `InvalidValueError` if the name is empty, too long, or has a `/` or
 * control characters.
 */
export function AgentId(name: string, key?: string | number): AgentId {
  const id = agentIdOf("agentId", name);
  if (key === undefined) return id;
  // Written as a text, anything else would be the same key for all: "[object Object]", "NaN".
  return `${id}/${checkId("agentId key", Number.isFinite(key) ? String(key) : key)}` as AgentId;
}

/** Checks an agent's name and returns it as its id. `field` is the name that the error shows. */
export function agentIdOf(field: string, name: string): AgentId {
  const checked = checkId(field, name);
  if (checked.includes("/")) {
    throw new InvalidValueError({
      field,
      value: name,
      expected: "a name without '/' (the key of an id is a separate argument: AgentId(name, key))",
    });
  }
  return checked as AgentId;
}

/**
 * Whether the text is a valid agent id. A fast check for every hire. It returns false for an id that is longer than the limit of
 * one part; the caller then checks the parts.
 */
export function isAgentId(text: string): text is AgentId {
  const slash = text.indexOf("/");
  const last = text.length - 1;
  return slash !== 0 && slash !== last && last >= 0 && last < MAX_ID_LENGTH && isPrintable(text);
}

/**
 * The id of a hired agent. Its key has the numbers of all hires from the root down, so that no two agents of a tree have the same
 * id.
 */
export function hiredId(parent: AgentId, agent: AgentId, number: number): AgentId {
  const slash = parent.indexOf("/");
  const path = slash === -1 ? String(number) : `${parent.slice(slash + 1)}.${number}`;
  return AgentId(agentName(agent), path);
}

/**
 * Makes a run's id. Throws an `InvalidValueError` if the text is empty, longer than 512 characters, or has control characters.
 */
export function RunId(value: string): RunId {
  return checkId("runId", value) as RunId;
}

/**
 * Makes a conversation's id. Throws an `InvalidValueError` if the text is empty, longer than 512 characters, or has control
 * characters.
 */
export function SessionId(value: string): SessionId {
  return checkId("sessionId", value) as SessionId;
}

/** Without `key` the id of the root's execution; with it, the id of the child `key` of `parent`. */
export function ExecId(parent: RunId | ExecId, key?: string): ExecId {
  if (typeof parent !== "string")
    throw new InvalidValueError({ field: "execId parent", value: parent, expected: "a RunId or an ExecId" });
  return (key === undefined ? parent : `${parent}/${checkId("execId key", key)}`) as ExecId;
}

/** Makes a frozen topic id. Throws an `InvalidValueError` if a part is not valid. */
export function TopicId(type: string, source: string): TopicId {
  return Object.freeze({ type: checkId("topic type", type), source: checkId("topic source", source) });
}

/** The id that was asked for last, which is mostly asked for again: to search it for its name takes 130 instructions. */
let latestId = "" as AgentId;
let latestName = "";

/** The agent's name within its id: `"researcher"` for `"researcher/2"`. */
export function agentName(id: AgentId): string {
  if (id === latestId) return latestName;
  if (typeof id !== "string")
    throw new InvalidValueError({ field: "agentId", value: id, expected: "an AgentId (a string)" });
  const slash = id.indexOf("/");
  latestId = id;
  return (latestName = slash === -1 ? id : id.slice(0, slash));
}

/** The last id that passed the check. An agent's name is checked again at each of its runs and hires. */
let lastGood = "";

function checkId(field: string, value: unknown): string {
  if (value === lastGood && lastGood !== "") return lastGood;
  if (
    typeof value !== "string" ||
    value.length === 0 ||
    value.length > MAX_ID_LENGTH ||
    !isPrintable(value)
  ) {
    throw new InvalidValueError({
      field,
      value,
      expected: `a string of 1 to ${MAX_ID_LENGTH} characters without control characters`,
    });
  }
  return (lastGood = value);
}

// oxlint-disable-next-line no-control-regex -- these are what an id must not have
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f]/;
// oxlint-disable-next-line no-control-regex -- the same, and halves of surrogate pairs, which may be missing their other half
const SUSPECT = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/;

/** With a regular expression: for an id of 36 characters a loop takes three times as long. */
function isPrintable(value: string): boolean {
  return !SUSPECT.test(value) || (!UNPRINTABLE.test(value) && value.isWellFormed());
}
