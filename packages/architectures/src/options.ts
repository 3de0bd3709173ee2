import {
  type Architecture,
  type AuditLog,
  checkFields,
  checkInteger,
  type Memory,
  type Permissions,
  type Telemetry,
} from "@ravi/kernel";
import { asOwn, checkPort, checkPorts, type LoopOptions, type LoopPlan, planLoop } from "@ravi/kernel/loop";
import { ALLOW_ALL, NO_MEMORY, NO_TELEMETRY } from "./context/services.ts";

type Shared = Pick<
  LoopOptions,
  | "name"
  | "model"
  | "instructions"
  | "tools"
  | "hooks"
  | "middleware"
  | "executionBudget"
  | "version"
  | "description"
>;

export interface StrategyAgentOptions extends Shared {
  /** The reasoning strategy, such as `new ReAct()`. */
  readonly architecture: Architecture;
  /** The maximum number of model calls in one tool loop, without the last one that wraps up. Default: 50. */
  readonly maxTurns?: number | undefined;
  /** What it remembers beyond one conversation, separately for each user. Default: none. */
  readonly memory?: Memory | undefined;
  /**
   * Decides which model calls, tool calls and hires are allowed, in addition to the runtime's permissions. A policy that fails
   * denies. Default: everything is allowed.
   */
  readonly permissions?: Permissions | undefined;
  /** Gets a span for the run, each model call and each tool call. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Gets an entry before and after each of these. If the first cannot be written, the call is not made. Default: none. */
  readonly auditLog?: AuditLog | undefined;
}

/** The checked options with their defaults. */
export interface StrategyPlan extends LoopPlan {
  readonly architecture: Architecture;
  readonly maxTurns: number;
  readonly memory: Memory;
  readonly permissions: Permissions;
  readonly telemetry: Telemetry;
  readonly auditLog: AuditLog | null;
}

const KNOWN = [
  "name",
  "architecture",
  "model",
  "instructions",
  "tools",
  "maxTurns",
  "memory",
  "permissions",
  "telemetry",
  "auditLog",
  "hooks",
  "middleware",
  "executionBudget",
  "version",
  "description",
] as const satisfies readonly (keyof StrategyAgentOptions)[];

const OWNER = "StrategyAgent";

export function planStrategy(options: StrategyAgentOptions): StrategyPlan {
  checkFields(OWNER, options, KNOWN);
  const { architecture, maxTurns, memory, permissions, telemetry, auditLog, ...shared } = asOwn(
    options,
    KNOWN,
  );
  checkPort(`${OWNER}.architecture`, architecture, ["run", "declaredWorkers"]);
  checkPorts(OWNER, { memory, permissions, telemetry, auditLog });
  if (maxTurns !== undefined) checkInteger(`${OWNER}.maxTurns`, maxTurns, 1);
  const plan = planLoop(OWNER, { ...shared, ...(maxTurns !== undefined && { maxSteps: maxTurns }) });
  return Object.freeze({
    ...plan,
    // A strategy is code of somebody's own, and the list is for all runs of the agent.
    tools: Object.freeze([...plan.tools]),
    architecture,
    maxTurns: plan.maxSteps,
    memory: memory ?? NO_MEMORY,
    permissions: permissions ?? ALLOW_ALL,
    telemetry: telemetry ?? NO_TELEMETRY,
    auditLog: auditLog ?? null,
  });
}
