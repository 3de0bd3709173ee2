import { InvalidValueError } from "../errors/errors.ts";
import type { Branded } from "./types.ts";

/** A definition's name (`"lead"`), or a hired instance of it (`"researcher/2"`). */
export type AgentId = Branded<"AgentId">;
/** One tree of executions: the result of a single `run()`. */
export type RunId = Branded<"RunId">;
/** One agent's execution in a tree: `run/hire:researcher#1`. */
export type ExecId = Branded<"ExecId">;
/** One conversation, which may span many runs. */
export type SessionId = Branded<"SessionId">;

/** A place to publish to or subscribe on. */
export interface TopicId {
  readonly type: string;
  readonly source: string;
}

const MAX_ID_LENGTH = 512;

export function AgentId(name: string, key?: string | number): AgentId {
  const id = agentIdOf("agentId", name);
  if (key === undefined) return id;
  // Written as a text, anything else would be the same key for all: "[object Object]", "NaN".
  return `${id}/${checkId("agentId key", Number.isFinite(key) ? String(key) : key)}` as AgentId;
}

/** The id of an agent that was given its name in this field. */
export function agentIdOf(field: string, name: string): AgentId {
  const checked = checkId(field, name);
  if (checked.includes("/")) {
    throw new InvalidValueError({
      field,
      value: name,
      expected: "a name without '/' (an id's key is given apart: AgentId(name, key))",
    });
  }
  return checked as AgentId;
}

/** Whether it is one already, as every hire asks of the id that was just made for it. One that is very long is looked at in its parts. */
export function isAgentId(text: string): text is AgentId {
  const slash = text.indexOf("/");
  const last = text.length - 1;
  return slash !== 0 && slash !== last && last >= 0 && last < MAX_ID_LENGTH && isPrintable(text);
}

/** Of one who is hired: the numbers of all hires on the way down, so that no two agents of a tree have the same. */
export function hiredId(parent: AgentId, agent: AgentId, number: number): AgentId {
  const slash = parent.indexOf("/");
  const path = slash === -1 ? String(number) : `${parent.slice(slash + 1)}.${number}`;
  return AgentId(agentName(agent), path);
}

export function RunId(value: string): RunId {
  return checkId("runId", value) as RunId;
}

export function SessionId(value: string): SessionId {
  return checkId("sessionId", value) as SessionId;
}

/** The root's execution when only the run is given; otherwise the child that `key` names under `parent`. */
export function ExecId(parent: RunId | ExecId, key?: string): ExecId {
  if (typeof parent !== "string")
    throw new InvalidValueError({ field: "execId parent", value: parent, expected: "a RunId or an ExecId" });
  return (key === undefined ? parent : `${parent}/${checkId("execId key", key)}`) as ExecId;
}

export function TopicId(type: string, source: string): TopicId {
  return Object.freeze({ type: checkId("topic type", type), source: checkId("topic source", source) });
}

/** The part of an agent's id that names its definition: `"researcher"` of `"researcher/2"`. */
export function agentName(id: AgentId): string {
  if (typeof id !== "string")
    throw new InvalidValueError({ field: "agentId", value: id, expected: "an AgentId, which is a text" });
  const slash = id.indexOf("/");
  return slash === -1 ? id : id.slice(0, slash);
}

/** The one that was found good last: an agent's name is checked again with each of its runs and hires. */
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
      expected: `a text of 1 to ${MAX_ID_LENGTH} characters without control characters`,
    });
  }
  return (lastGood = value);
}

function isPrintable(value: string): boolean {
  let mayBeHalf = false;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return false;
    if (code >= 0xd800) mayBeHalf = true;
  }
  // Asked only where there are such signs: it leaves compiled code, for 0.1 µs an id.
  return !mayBeHalf || value.isWellFormed();
}
