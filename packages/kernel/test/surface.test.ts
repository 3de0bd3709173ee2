import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as kernel from "@ravi/kernel";
import * as loop from "@ravi/kernel/loop";
import * as provider from "@ravi/kernel/provider";

test("the exports of @ravi/kernel are these", () => {
  expect(Object.keys(kernel).toSorted()).toMatchInlineSnapshot(`
    [
      "ARGUMENT_LIMITS",
      "AgentId",
      "AgentNotFoundError",
      "BudgetExhaustedError",
      "CancellationError",
      "CancellationToken",
      "DeadlineExceededError",
      "ErrorCode",
      "ErrorKind",
      "ExecId",
      "HistoryRetention",
      "HookEvent",
      "InvalidValueError",
      "JournalCorruptError",
      "JournalFailedError",
      "JournalLockedError",
      "LaneViolationError",
      "MiddlewareError",
      "MiddlewareTermination",
      "NO_HOOKS",
      "NO_USAGE",
      "NeedsDecisionError",
      "NonDeterminismError",
      "PausedError",
      "Priority",
      "ProviderError",
      "RaviError",
      "RunId",
      "RunMeta",
      "SessionId",
      "Supervision",
      "SuspendedError",
      "ToolError",
      "TopicId",
      "addUsage",
      "agentName",
      "cancellationOf",
      "checkAmountOrNull",
      "checkBoolean",
      "checkFields",
      "checkInteger",
      "checkIntegerOrNull",
      "checkOneOf",
      "checkPlainJson",
      "checkSignal",
      "checkToolName",
      "classifyError",
      "deepFreeze",
      "defineTool",
      "errorFromJSON",
      "errorToJSON",
      "executionBudget",
      "freezeNew",
      "isCancellation",
      "isDelegate",
      "isPromiseLike",
      "isRaviError",
      "isRetryableKind",
      "isStandardSchema",
      "parseJson",
      "sameValue",
      "spawnBudget",
      "systemClock",
      "systemIds",
      "textOf",
      "totalTokens",
      "wantsApproval",
    ]
  `);
});

test("the exports of @ravi/kernel/loop are these", () => {
  expect(Object.keys(loop).toSorted()).toMatchInlineSnapshot(`
    [
      "AgentBase",
      "Conversation",
      "KEY_SHAPES",
      "LEAST_RESULT_CHARS",
      "LOOP_LIMITS",
      "LinkedList",
      "MOST_CUT_OFFS",
      "RUN_START_OPTIONS",
      "SETTINGS",
      "TextIndex",
      "abortable",
      "admitRun",
      "agentIdOf",
      "answerMisfit",
      "answerProblem",
      "answerShape",
      "argumentsText",
      "asOwn",
      "bareContext",
      "bareInbox",
      "bothHooks",
      "checkAgent",
      "checkAgentParts",
      "checkAgents",
      "checkDecisions",
      "checkEvent",
      "checkHireChoices",
      "checkHosted",
      "checkMessage",
      "checkModel",
      "checkPort",
      "checkPorts",
      "checkRecord",
      "checkRun",
      "checkSchemas",
      "checkTools",
      "checkTransform",
      "delegateTo",
      "deliveryId",
      "engineRunMeta",
      "exceededIn",
      "fullDecisions",
      "guardedHooks",
      "hasMethod",
      "hasNoSeat",
      "hireAll",
      "hireBy",
      "hireResult",
      "hiredId",
      "hookBase",
      "isAgent",
      "isAmong",
      "isContent",
      "isCutOff",
      "isFinalFailure",
      "isLedger",
      "isParsed",
      "isStop",
      "isUnset",
      "jsonSchemaOf",
      "keepLoopShapes",
      "keepShapes",
      "land",
      "least",
      "listedQuestion",
      "loopDetector",
      "makeAtOnce",
      "makeDirect",
      "messageOf",
      "newRoot",
      "onAbort",
      "ownMetadata",
      "parseWith",
      "planLoop",
      "quietly",
      "readApproval",
      "readArguments",
      "readResult",
      "readStream",
      "readTurn",
      "refusalFor",
      "refuseLimits",
      "refuseNoEvent",
      "refuseNoStream",
      "refuseSpawnTime",
      "refuseUnkept",
      "runLimits",
      "scopeForWorker",
      "secretPatterns",
      "secretRemover",
      "shorten",
      "soundUsage",
      "spawnTerms",
      "tellHandoff",
      "tellLog",
      "tellOwn",
      "tellTermination",
      "tighterBudget",
      "toToolResult",
      "toolFailure",
      "toolFailureOf",
      "toolLoop",
      "toolProgress",
      "toolSpec",
      "toolTurn",
      "truncateText",
      "versionName",
      "versionOf",
      "warningsIn",
      "withNote",
      "withTextArguments",
      "withTimers",
      "withoutCalls",
      "withoutThoughts",
    ]
  `);
});

test("the exports of @ravi/kernel/provider are these", () => {
  expect(Object.keys(provider).toSorted()).toMatchInlineSnapshot(`
    [
      "BrokenConnection",
      "OversizedAnswer",
      "UnusableAnswer",
      "causeChain",
      "checkBaseURL",
      "checkClientParts",
      "checkHeaders",
      "checkRequest",
      "countIn",
      "field",
      "fieldsOf",
      "headerSecrets",
      "headerText",
      "incomplete",
      "inputSchema",
      "isObject",
      "isObjectSchema",
      "leftOut",
      "listOf",
      "looksStreamed",
      "lowerCased",
      "namesOnly",
      "onceEach",
      "parseAnswer",
      "parseEvent",
      "plainId",
      "plainName",
      "providerError",
      "reasonMeantBy",
      "retryAfterMs",
      "scrubber",
      "serverEvents",
      "shortId",
      "startCall",
      "stringOr",
      "textIn",
      "transportVerdict",
      "tryParse",
      "uniqueIds",
      "unknownLeftOut",
      "untilAborted",
      "urlSecrets",
      "wellFormedJson",
      "wireLimits",
    ]
  `);
});

/** Types leave no trace at run time, so their names are read off the entry itself. */
function typesOf(entry: string): string[] {
  const source = readFileSync(join(import.meta.dirname, "../src", entry), "utf8");
  const lists = [...source.matchAll(/export (type )?\{([^}]*)\}/g)];
  return lists
    .flatMap(([, all, names = ""]) =>
      names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && (all !== undefined || name.startsWith("type ")))
        .map((name) => name.replace(/^type /, "")),
    )
    .toSorted();
}

test("the exported types are these", () => {
  expect(typesOf("index.ts").join(" ")).toMatchInlineSnapshot(
    `"AbortSignalLike AcquireOptions Actual Agent AgentAccount AgentContext AgentDefaults AgentEvent AgentResult AgentRun AgentRunContext AgentSession AnswerOf AnyRaviError Architecture AssistantMessage AuditEntry AuditLog BlobStore Branded BudgetDimension BudgetExhaustedInit BudgetWarning CallNote CallOptions CancellationTokenConstructor ChargeOptions ChatContext ChatMessage ClassifiedError Clock CompactionContext CompactionStrategy ContentPart ContextPorts CreateRunContext DelegateTool Dependencies DurableEngine Effect EffectScope ErrorByCode Estimate ExecutionBudget ExecutionBudgetFactory ExecutionBudgetOptions ExecutionStart FilePart FinishReason FunctionContext Gate Headcount Heard HireLeaf HireOutcome HireSpec HireUsage HistoryKey HistoryProvider HookBase HookPayloads Hooks IdSource ImagePart Inbox InboxMessage InferSchema Journal JournalEntry JournalRecord JournalWatch JsonLimits JsonObject JsonPrimitive JsonSchema JsonSchemaValidator JsonValue KnownPrice LLMClient Layer Leaf Lease Ledger Limiter LimiterRequest LlmLeaf LlmOutcome Logger MaybePromise Memory MemoryItem Meter Middleware MiddlewareLevel ModelEvent ModelInfo ModelRequest ModelResponse Next Operation Outcome OutcomeOf OutcomesOf PendingWait PermissionDecision PermissionRequest Permissions Permit Pipeline Pipelines PostedItem PostedRecord Price ProviderErrorInit QueueOptions RaviErrorOptions ReasoningPart Remaining Reservation ReserveOptions RestartPolicy RootHandle RootOptions RunContext RunEvent RunHandle RunLimits RunMetaChildOptions RunMetaOptions RunResult RunScope RunStatus RunSummary SchemaIssue SchemaLike SchemaResult SerializedError Settled Settlement Skippable Span SpawnBudget SpawnBudgetFactory SpawnBudgetOptions SpawnChildOptions Spend Spent StandardSchema StopReason StoppedBy StreamTransform SystemMessage Tally Telemetry TextPart TimerHandle Tool ToolCall ToolContext ToolDefinition ToolLeaf ToolMessage ToolOutcome ToolResult ToolSpec Usage Used UserMessage WaitSpec WindowOptions"`,
  );
  expect(typesOf("loop.ts").join(" ")).toMatchInlineSnapshot(
    `"AdmitRunOptions AdmittedRun AgentBaseParts AgentParts AnswerShape Approval AtOnce BareContext BareContextOptions BareInbox BareInboxOptions CheckedBySchemas CheckedPorts Decision Decisions DelegateOptions Direct Finish Hired InDoubt Indexed Instructions Keepers KeyShape LandOptions Linked LoopDetector LoopExtension LoopLimits LoopLimitsOptions LoopOptions LoopPlan LoopStep LoopVerdict ModelSettings Parsed PlatformTimers RunStartOptions TimerClock ToolTurn ToolTurnOptions Turn TurnContext"`,
  );
  expect(typesOf("provider.ts").join(" ")).toMatchInlineSnapshot(
    `"ClientParts ConnectionFault FailureContext FailureVerdict Fields HeaderSource IdGiver Notice ObjectSchema PlatformTimers ProviderCall ProviderCallSetup Scrub ServerEvent ServerEventReader WireLimits WireLimitsOptions"`,
  );
});

test("R21: the hook events are these", () => {
  expect(kernel.HookEvent).toMatchInlineSnapshot(`
    {
      "APPROVAL_REQUESTED": "approval_requested",
      "BUDGET_WARNING": "budget_warning",
      "COMPACTION": "compaction",
      "FLOW_END": "flow_end",
      "FLOW_START": "flow_start",
      "GUARDRAIL_TRIP": "guardrail_trip",
      "HANDOFF": "handoff",
      "LLM_END": "llm_end",
      "LLM_START": "llm_start",
      "PREEMPTED": "preempted",
      "RESUMED": "resumed",
      "RETRY": "retry",
      "RUN_END": "run_end",
      "RUN_START": "run_start",
      "STEP_END": "step_end",
      "STEP_START": "step_start",
      "TOOL_END": "tool_end",
      "TOOL_START": "tool_start",
    }
  `);
});

test("R13: the error codes are these", () => {
  expect(Object.values(kernel.ErrorCode)).toMatchInlineSnapshot(`
    [
      "CANCELLED",
      "DEADLINE_EXCEEDED",
      "PAUSED",
      "SUSPENDED",
      "BUDGET_EXHAUSTED",
      "MIDDLEWARE_TERMINATION",
      "MIDDLEWARE_ERROR",
      "PROVIDER_ERROR",
      "TOOL_ERROR",
      "INVALID_VALUE",
      "AGENT_NOT_FOUND",
      "NON_DETERMINISM",
      "LANE_VIOLATION",
      "NEEDS_DECISION",
      "JOURNAL_LOCKED",
      "JOURNAL_CORRUPT",
      "JOURNAL_FAILED",
    ]
  `);
  expect(Object.entries(kernel.ErrorCode).every(([name, value]) => name === value)).toBe(true);
});
