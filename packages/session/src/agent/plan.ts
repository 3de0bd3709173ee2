import {
  type AgentId,
  checkFields,
  checkInteger,
  type Clock,
  type IdSource,
  type Inbox,
  InvalidValueError,
  SessionId,
  systemClock,
  systemIds,
} from "@ravi/kernel";
import {
  agentIdOf,
  checkAgentParts,
  checkDelegateChoices,
  checkModel,
  checkTools,
  hasMethod,
  LEAST_RESULT_CHARS,
  type LoopLimitsOptions,
  refusalFor,
  withTimers,
} from "@ravi/kernel/loop";
import { type CompactionPlan, compactionPlan } from "../compaction/options.ts";
import { checkExtension } from "../extensions/load.ts";
import { isBlank } from "../queue/mailbox.ts";
import { checkEphemeral } from "../prompt/ephemeral.ts";
import { retryPlan } from "../retry/policy.ts";
import { MemorySessionStore } from "../store/memory-store.ts";
import type { SessionStore } from "../store/store.ts";
import { environmentSecrets, type Redactor, redactor } from "../tree/redact.ts";
import type { TurnSettings } from "../turn/deps.ts";
import type { SessionAgentOptions } from "./options.ts";

const KNOWN = [
  "name",
  "model",
  "models",
  "tools",
  "children",
  "store",
  "sessionId",
  "extensions",
  "guardrails",
  "loopDetection",
  "retry",
  "compaction",
  "prompt",
  "ephemeral",
  "maxSteps",
  "toolConcurrency",
  "maxToolResultChars",
  "settings",
  "secrets",
  "cwd",
  "validator",
  "hooks",
  "middleware",
  "executionBudget",
  "version",
  "description",
  "clock",
  "ids",
] as const satisfies readonly (keyof SessionAgentOptions)[];

export const OWNER = "SessionAgent";
const wrong = refusalFor(OWNER);

/** The options, checked and with their defaults. */
export interface Plan {
  readonly options: SessionAgentOptions;
  readonly id: AgentId;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly cwd: string;
  readonly redact: Redactor;
  readonly compaction: CompactionPlan;
  readonly loopDetection: LoopLimitsOptions | false;
  readonly turn: Omit<TurnSettings, "allowed">;
}

/** Checks the options. Throws an `InvalidValueError` that names the wrong field. */
export function planFor(options: SessionAgentOptions): Plan {
  checkFields(OWNER, options, KNOWN);
  checkAgentParts(OWNER, options);
  checkParts(options);
  const number = (name: "maxSteps" | "maxToolResultChars", otherwise: number, least: number): number =>
    checkInteger(`SessionAgent.${name}`, options[name] ?? otherwise, least);
  const { loopDetection = {} } = options;
  return Object.freeze({
    options,
    id: agentIdOf("SessionAgent.name", options.name ?? "session"),
    store: options.store ?? new MemorySessionStore(),
    clock: options.clock ?? withTimers(systemClock, globalThis),
    ids: options.ids ?? systemIds,
    cwd: options.cwd ?? process.cwd(),
    redact: redactor(options.secrets ?? environmentSecrets(process.env)),
    compaction: compactionPlan(options.compaction, options.model.info.contextWindow),
    loopDetection,
    turn: {
      maxSteps: number("maxSteps", 50, 1),
      maxChars: number("maxToolResultChars", 50_000, LEAST_RESULT_CHARS),
      concurrency: options.toolConcurrency,
      validator: options.validator,
      retry: retryPlan(options.retry),
      settings: options.settings,
    },
  });
}

const A_CHILD =
  "{ name, description, tools?, attachments? }, which makes a copy of this agent; another agent belongs into tools: delegateTo(agent) of @ravi/kernel/loop";

/** Checks at run time what a TypeScript compiler would have caught, for users without one. */
function checkParts(options: SessionAgentOptions): void {
  const { model, models = [], store, sessionId, toolConcurrency, extensions = [], secrets = [] } = options;
  for (const field of ["models", "extensions", "guardrails", "children"] as const)
    if (options[field] !== undefined && !Array.isArray(options[field]))
      wrong(field, options[field], "an array");
  checkModel("SessionAgent.model", model);
  for (const [at, each] of models.entries()) checkModel(`SessionAgent.models[${at}]`, each);
  if (store !== undefined && !hasMethod(store, "open"))
    wrong("store", store, "a SessionStore, such as a FileSessionStore");
  if (sessionId !== undefined) SessionId(sessionId);
  if (toolConcurrency !== undefined) checkInteger("SessionAgent.toolConcurrency", toolConcurrency, 1);
  if (!isTexts(secrets)) wrong("secrets", secrets, "an array of strings");
  for (const [at, child] of (options.children ?? []).entries()) {
    if (hasMethod(child, "run")) wrong(`children[${at}]`, child, A_CHILD);
    for (const field of ["name", "description"] as const)
      if (typeof child?.[field] !== "string") wrong(`children[${at}].${field}`, child?.[field], "a string");
    checkAllowed(`SessionAgent.children[${at}]`, child, ["name", "description", "tools", "attachments"]);
    checkDelegateChoices(`SessionAgent.children[${at}]`, { attachments: child.attachments });
  }
  if (options.ephemeral !== undefined) checkEphemeral("SessionAgent.ephemeral", options.ephemeral);
  if (options.cwd !== undefined && typeof options.cwd !== "string") wrong("cwd", options.cwd, "a path");
  if (options.ids !== undefined && !hasMethod(options.ids, "uuid"))
    wrong("ids", options.ids, "an IdSource, with the methods uuid and random");
  checkTools(OWNER, options.tools ?? []);
  for (const [at, extension] of extensions.entries())
    if (typeof extension !== "string") checkExtension(extension, `SessionAgent.extensions[${at}]`);
}

/** Throws if a child's list of tools is misspelt or not a list; ignoring it would allow the child all tools. */
export function checkAllowed(field: string, child: unknown, fields: readonly string[]): void {
  const { tools } = checkFields(field, child, fields);
  if (tools === undefined || isTexts(tools)) return;
  const expected = "an array of tool names";
  throw new InvalidValueError({ field: `${field}.tools`, value: tools, expected });
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && Array.from(value).every((item) => typeof item === "string");
}

/** Throws if it is no text, or a blank one without a picture: a user's message must not be empty. */
export function checkInput(field: string, text: unknown, attachments: Inbox["attachments"]): void {
  if (typeof text === "string" && (attachments !== undefined || !isBlank(text))) return;
  const hint = Array.isArray(text) ? ": the new message alone, because the session has the earlier ones" : "";
  throw new InvalidValueError({ field, value: text, expected: `a non-empty string${hint}` });
}
