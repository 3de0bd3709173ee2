import type {
  AgentEvent,
  DelegateTool,
  Inbox,
  JsonSchemaValidator,
  LLMClient,
  ModelRequest,
  RunContext,
  SerializedError,
  Tool,
  ToolSpec,
} from "@ravi/kernel";
import type { CompactionReason, Emit } from "../extensions/events.ts";
import type { CompactionOutcome } from "../extensions/extension.ts";
import type { ExtensionHost } from "../extensions/host.ts";
import type { GuardrailChain } from "../guardrails/chain.ts";
import type { ContextMeter } from "../compaction/tokens.ts";
import type { EphemeralSource } from "../prompt/ephemeral.ts";
import type { Mailbox } from "../queue/mailbox.ts";
import type { RetryPlan } from "../retry/policy.ts";
import type { Session } from "../tree/session.ts";

/** The settings of every turn. */
export interface TurnSettings {
  readonly maxSteps: number;
  /** The only tools that may be called; undefined for all. The model is shown all of them in either case. */
  readonly allowed: ReadonlySet<string> | undefined;
  readonly concurrency: number | undefined;
  readonly validator: JsonSchemaValidator | undefined;
  /** The most characters of one tool result. */
  readonly maxChars: number;
  readonly retry: RetryPlan;
  readonly settings: Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output"> | undefined;
}

/** The tools of a request: merged, with the built-in ones first. */
export interface MergedTools {
  readonly tools: readonly (Tool | DelegateTool)[];
  /** The same array for as long as the tools do not change, so that its digest is computed once. */
  readonly specs: readonly ToolSpec[] | undefined;
}

/** Everything that a turn works with. */
export interface TurnDeps {
  readonly ctx: RunContext;
  /** What came with the turn's input. */
  readonly attachments: Inbox["attachments"];
  readonly session: Session;
  readonly host: ExtensionHost;
  readonly guard: GuardrailChain;
  readonly model: LLMClient;
  readonly mailbox: Mailbox;
  readonly meter: ContextMeter;
  readonly settings: TurnSettings;
  readonly ephemeral: readonly EphemeralSource[];
  readonly channel: string | null;
  readonly merged: MergedTools;
  readonly systemPrompt: (now: number) => Promise<string>;
  /** Called with the prompt that is sent, as the extensions have changed it. */
  readonly useSystemPrompt: (text: string) => void;
  readonly compact: (reason: CompactionReason) => Promise<CompactionOutcome>;
  /** Emits an event to extensions and observers. */
  readonly emit: Emit;
  readonly report: (event: AgentEvent) => void;
  /** An error for events and hooks, without secrets. */
  readonly errorJSON: (error: unknown) => SerializedError;
}
