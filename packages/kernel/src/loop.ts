/// <reference lib="esnext.disposable" preserve="true" />
// What authors of agents and of runtimes share: pure helpers over the contracts, and a context without rules.

export { bareContext, type BareContext, type BareContextOptions } from "./loop/bare-context.ts";
export { bareInbox, type BareInbox, type BareInboxOptions } from "./loop/bare-inbox.ts";
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
export { type Parsed, parseWith } from "./loop/parse-with.ts";
export { readStream } from "./loop/read-stream.ts";
export {
  isStop,
  messageOf,
  readArguments,
  toToolResult,
  toolFailure,
  toolFailureOf,
} from "./loop/tool-call.ts";
export { jsonSchemaOf, toolSpec } from "./loop/tool-spec.ts";
export { toolTurn, type ToolTurn, type ToolTurnOptions } from "./loop/tool-turn.ts";
export { truncateText } from "./loop/truncate.ts";
