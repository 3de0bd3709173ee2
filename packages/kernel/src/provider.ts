// What authors of providers share: functions over what a server sends and what goes wrong on the way to it. The network is
// the provider's.

export { saidBehind } from "./errors/facts.ts";
export { argumentObject, argumentText } from "./provider/argument-text.ts";
export { hasField, withoutField } from "./provider/body-fields.ts";
export { causeChain } from "./provider/causes.ts";
export { checkRequest } from "./provider/check-request.ts";
export type { PlatformTimers } from "./run/with-timers.ts";
export { type ProviderCall, type ProviderCallSetup, startCall } from "./provider/call.ts";
export { correctedKey, MAX_CORRECTIONS } from "./provider/corrected.ts";
export { variable } from "./provider/environment.ts";
export {
  type ConnectionFault,
  type FailureContext,
  type FailureVerdict,
  providerError,
  transportVerdict,
} from "./provider/failure.ts";
export { BrokenConnection, OversizedAnswer, RedirectedRequest, UnusableAnswer } from "./provider/faults.ts";
export { type HeaderSource, headerText, lowerCased, retryAfterMs } from "./provider/headers.ts";
export {
  type CallIds,
  callIds,
  type IdGiver,
  plainId,
  plainName,
  shortId,
  uniqueIds,
} from "./provider/ids.ts";
export { inputSchema, isObjectSchema, type ObjectSchema } from "./provider/input-schema.ts";
export {
  countIn,
  field,
  type Fields,
  fieldsOf,
  isObject,
  listOf,
  stringOr,
  textIn,
  tryParse,
} from "./provider/json.ts";
export { leftOut, unknownLeftOut } from "./provider/left-out.ts";
export { pairedCalls } from "./provider/paired-calls.ts";
export { plainType } from "./provider/media-type.ts";
export { keyInBrowser, type KeyPlaces, missingKey } from "./provider/missing-key.ts";
export { type Notice, onceEach } from "./provider/notices.ts";
export {
  checkBaseURL,
  checkClientParts,
  checkHeaders,
  type ClientParts,
  namesOnly,
  type WireLimits,
  wireLimits,
  type WireLimitsOptions,
} from "./provider/options.ts";
export { type AnswerReading, answerReader, type WireAnswer } from "./provider/read-answer.ts";
export { reasonMeantBy } from "./provider/reason-words.ts";
export { type Refusal, refuseRedirect, shortRefusal } from "./provider/refusal.ts";
export { headerSecrets, type Scrub, scrubber, urlSecrets } from "./provider/scrub.ts";
export { type ServerEvent, type ServerEventReader, serverEvents } from "./provider/server-events.ts";
export { untilAborted } from "./provider/until-aborted.ts";
export { wellFormedJson } from "./provider/well-formed-json.ts";
