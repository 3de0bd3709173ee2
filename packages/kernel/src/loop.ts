/// <reference lib="esnext.disposable" preserve="true" />
// What authors of agents and of runtimes share: pure helpers over the contracts, and a context without rules.

export { addCost } from "./model/cost.ts";
export { scopeForWorker } from "./agent/scope.ts";
export { agentIdOf, HELPER_PREFIX, hiredId } from "./core/ids.ts";
export { type Linked, LinkedList } from "./core/linked.ts";
export { KEY_SHAPES, type KeyShape, secretPatterns, secretRemover } from "./core/secrets.ts";
export { codeAt } from "./core/code-at.ts";
export { forgetOldest } from "./core/forget-oldest.ts";
export { quietly } from "./core/quietly.ts";
export { checkSpelling, meantBy } from "./core/spelling.ts";
export { hasCode } from "./core/has-code.ts";
export { makeFolders } from "./core/make-folders.ts";
export { tellLog } from "./core/tell-log.ts";
export { hasEnded, type ProcessReads, processStart } from "./core/process-life.ts";
export { type ProcessTable, processTable } from "./core/process-table.ts";
export { type PlatformModules, platformModules } from "./core/platform-modules.ts";
export { type Indexed, TextIndex } from "./core/text-index.ts";
export { ownAttachments, userMessage } from "./loop/attachments.ts";
export { admitRun, type AdmitRunOptions, type AdmittedRun, isUnset } from "./loop/admit-run.ts";
export { AgentBase, type AgentBaseParts } from "./loop/agent-base.ts";
export { type AgentParts, checkAgentParts, hasMethod, refusalFor, SETTINGS } from "./loop/agent-parts.ts";
export { asOwn, checkFunction, checkRecord, checkText } from "./core/check.ts";
export { checkMessage } from "./core/plain-json.ts";
export { type CheckedPorts, checkPort, checkPorts } from "./loop/check-ports.ts";
export { callProblem } from "./loop/call-problem.ts";
export { checkEvent } from "./loop/check-event.ts";
export { checkModel } from "./loop/check-model.ts";
export { checkAgent, checkAgents, checkHost, checkHosted, isAgent } from "./loop/check-agent.ts";
export { answerDeltas, answerEvents } from "./loop/answer-deltas.ts";
export { answerMisfit, answerProblem, isContent } from "./loop/answer.ts";
export { type Backoff, backoffMs } from "./loop/backoff.ts";
export { type Denial, denialBy } from "./loop/denial.ts";
export { keepShapes } from "./loop/keep-shapes.ts";
export { type AtOnce, type Direct, makeAtOnce, makeDirect } from "./loop/at-once.ts";
export { bareContext, type BareContext, type BareContextOptions } from "./loop/bare-context.ts";
export { bothHooks, isAmong, tellOwn } from "./loop/both-hooks.ts";
export { guardedHooks } from "./loop/guarded-hooks.ts";
export { bareInbox, type BareInbox, type BareInboxOptions } from "./loop/bare-inbox.ts";
export { checkTransform } from "./loop/check-transform.ts";
export { checkSchemas, type CheckedBySchemas } from "./loop/check-schemas.ts";
export { Conversation } from "./loop/conversation.ts";
export { isCutOff } from "./loop/cut-off.ts";
export {
  checkDecisions,
  type Decision,
  type Decisions,
  fullDecisions,
  type InDoubt,
} from "./loop/decisions.ts";
export { deliveryId } from "./loop/delivery-id.ts";
export { answerable, notAwaited } from "./loop/not-awaited.ts";
export { checkSendText, missed, refuseStranger } from "./loop/recipient.ts";
export { isFinalFailure } from "./loop/final-failure.ts";
export { hasNoSeat, hireAll } from "./loop/hire-all.ts";
export { hireBy } from "./loop/hire-by.ts";
export { hireResult } from "./loop/hire-result.ts";
export { land, type LandOptions } from "./loop/land.ts";
export {
  LOOP_LIMITS,
  type LoopDetector,
  loopDetector,
  type LoopLimits,
  type LoopLimitsOptions,
  type LoopStep,
  type LoopVerdict,
} from "./loop/loop-detection.ts";
export { observedEvent } from "./loop/observed-event.ts";
export { type EventListener, tellListener } from "./loop/tell-listener.ts";
export { tellTermination } from "./loop/termination.ts";
export {
  exceededIn,
  isLedger,
  type Keepers,
  least,
  refuseLimits,
  refuseUnkept,
  runLimits,
  tighterBudget,
} from "./loop/limits.ts";
export { listedError, listedText } from "./loop/listed-error.ts";
export { listedQuestion } from "./loop/listed-question.ts";
export { RUN_START_OPTIONS, type RunStartOptions } from "./loop/run-options.ts";
export { checkInput, checkRun, newRoot, versionName, versionOf } from "./loop/run-start.ts";
export { engineRunMeta } from "./run/run-meta.ts";
export { ownSchema, textSchema } from "./loop/own-schema.ts";
export { ownMetadata } from "./loop/own-metadata.ts";
export {
  checkDelegateChoices,
  checkHireChoices,
  checkHireSpelling,
  secondHireArgument,
  askOptions,
  type AskOptions,
  spawnTerms,
} from "./loop/hire-choices.ts";
export { type CutOff, cutOffOf } from "./loop/why-cut-off.ts";
export { isParsed, type Parsed, parseWith } from "./loop/parse-with.ts";
export { type Approval, readApproval } from "./loop/read-approval.ts";
export { readAgain, readOutcome } from "./loop/read-again.ts";
export { readResult } from "./loop/read-result.ts";
export { restartDelay } from "./loop/restart-delay.ts";
export { readStream, refuseNoEvent, refuseNoStream } from "./loop/read-stream.ts";
export {
  isStop,
  argumentsText,
  readArguments,
  withTextArguments,
  toToolResult,
  toolFailure,
  toolFailureOf,
} from "./loop/tool-call.ts";
export { auditedFailure } from "./loop/audited-failure.ts";
export { messageOf } from "./errors/message-of.ts";
export { toldOf, toldOfDenial } from "./loop/told.ts";
export { withoutThoughts } from "./loop/thoughts.ts";
export { toolProgress } from "./loop/tool-progress.ts";
export { estimateTokens } from "./loop/estimate-tokens.ts";
export { Subscription } from "./loop/subscription.ts";
export { soundUsage } from "./loop/sound-usage.ts";
export { LEAST_RESULT_CHARS, shorten, withNote } from "./loop/tool-content.ts";
export { toolSpec } from "./loop/tool-spec.ts";
export { type AnswerShape, answerShape } from "./loop/tool-loop/answer-shape.ts";
export { type DelegateOptions, delegateTo } from "./loop/tool-loop/delegate.ts";
export type { Instructions, LoopOptions, ModelSettings } from "./loop/tool-loop/options.ts";
export { checkTools, type LoopPlan, planLoop } from "./loop/tool-loop/plan.ts";
export { MOST_CUT_OFFS, readTurn, type Turn, withoutCalls } from "./loop/tool-loop/read-turn.ts";
export { hookBase, tellHandoff } from "./loop/tool-loop/tell.ts";
export type { Finish, LoopExtension } from "./loop/tool-loop/extension.ts";
export { keepLoopShapes, type LoopInput, toolLoop } from "./loop/tool-loop/tool-loop.ts";
export {
  type Hired,
  toolTurn,
  type ToolTurn,
  type ToolTurnOptions,
  type TurnContext,
} from "./loop/tool-turn.ts";
export { warningsIn } from "./loop/warnings-in.ts";
export { truncateText } from "./loop/truncate.ts";
export { padText, textWidth } from "./core/text-width.ts";
export { type PlatformTimers, type TimerClock, withTimers } from "./run/with-timers.ts";
export { TimeLimit, type TimeLimitOptions } from "./run/time-limit.ts";
export { abortable } from "./run/abortable.ts";
export { onAbort } from "./run/on-abort.ts";
export { sleep } from "./run/sleep.ts";
