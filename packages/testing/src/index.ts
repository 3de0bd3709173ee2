/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Tools for testing agents: scripted models, local servers that keep a bill, recordings of real calls, and a virtual clock. The test
 * suites are in `@ravi/testing/suites`.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type { Answer, AnswerFault, AnswerParts, ScriptedToolCall } from "./answers/answer.ts";
export type { Script, ScriptFunction, ScriptMatcher } from "./answers/script.ts";
export type { CallLine } from "./cassette/format.ts";
export type { CassetteOptions, RecordOptions, ReplayOptions } from "./cassette/options.ts";
export { record } from "./cassette/record.ts";
export { type Replay, replay } from "./cassette/replay.ts";
export { UnrecordedRequestError } from "./cassette/unrecorded.ts";
export type { LoopbackOptions } from "./loopback/server-context.ts";
export type { Prices } from "./loopback/price.ts";
export { type BillEntry, type BillSummary, readBill } from "./loopback/read-bill.ts";
export type { LoopbackCall, LoopbackRequest } from "./loopback/request.ts";
export { loopbackAnthropic, loopbackOpenAI, type LoopbackServer } from "./loopback/server.ts";
export {
  type RecordedCall,
  type ScriptedModel,
  scriptedModel,
  type ScriptedModelOptions,
} from "./scripted-model.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
