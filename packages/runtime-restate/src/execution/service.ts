import * as restate from "@restatedev/restate-sdk";
import {
  type Agent,
  AgentNotFoundError,
  type BlobStore,
  type ContextPorts,
  type CreateRunContext,
  errorToJSON,
  ExecId,
  type ExecutionStart,
  type HireOutcome,
  InvalidValueError,
  type RestartPolicy,
  Supervision,
} from "@ravi/kernel";
import { cutOffOf, messageOf, scopeForWorker, tellLog } from "@ravi/kernel/loop";
import type { Ingress } from "../ingress.ts";
import { EXECUTION } from "../names.ts";
import { outcomeToJSON } from "../outcome.ts";
import type { Launch } from "../root/messages.ts";
import { scopeOfRun } from "../scope.ts";
import { Attempt } from "./attempt.ts";
import { ChildSpans } from "./child-spans.ts";
import type { Kept } from "./kept/steps.ts";
import { readKept, readPage } from "./kept/store.ts";
import { eventOfEnd } from "./record.ts";
import { reportMismatch } from "./mismatch.ts";
import { RestateEngine } from "./engine.ts";
import type { MessageBatcher } from "./message-batcher.ts";
import { RootChannel } from "./root-channel.ts";
import type { Publishers } from "./publisher.ts";
import { bytesOf, MOST, tooLarge } from "../sizes.ts";
import type { Ended } from "./watcher.ts";

export interface ExecutionOptions {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly register: (agent: Agent) => void;
  readonly createContext: CreateRunContext;
  readonly ports: ContextPorts;
  readonly ingress: Ingress;
  readonly batcher: MessageBatcher;
  readonly publishers: Publishers;
  readonly blobs: BlobStore | undefined;
  readonly isWatched: boolean;
  readonly restart: RestartPolicy | undefined;
  readonly parkMs: number;
  readonly service: restate.WorkflowOptions;
}

/** The one workflow that runs every execution. Which agent it runs is part of its input. */
export function executionService(
  options: ExecutionOptions,
): restate.WorkflowDefinition<typeof EXECUTION, unknown> {
  const spans = new ChildSpans();
  const run = (context: restate.WorkflowContext, launch: Launch): Promise<Ended> =>
    host(options, spans, context, launch);
  const hooks = [
    reportMismatch(async ({ runId, execId }, why, signal) => {
      const channel = new RootChannel(options.batcher, options.ingress, runId);
      try {
        await reportParked(options, channel, execId, why, signal);
      } catch (error) {
        const message = `could not report why ${execId} is parked: ${why.message}`;
        tellLog(options.ports.logger, "error", message, { error: messageOf(error) });
      }
    }),
  ];
  const kept = restate.handlers.workflow.shared({ enableLazyState: true }, readPage);
  return restate.workflow({
    name: EXECUTION,
    handlers: { run, kept },
    options: { ...options.service, hooks },
  });
}

async function host(
  options: ExecutionOptions,
  spans: ChildSpans,
  context: restate.WorkflowContext,
  launch: Launch,
): Promise<Ended> {
  const { agents, ports, ingress, batcher, blobs, isWatched, register, restart } = options;
  const { runId, execId } = launch;
  const channel = new RootChannel(batcher, ingress, runId);
  const agent = agents.get(launch.agent);
  if (agent === undefined) {
    const missing = new AgentNotFoundError({ agent: launch.agent, known: [...agents.keys()] });
    throw await park(options, context, channel, launch, missing);
  }
  const { attemptCompletedSignal: over } = context.request();
  const publisher = options.publishers.of(runId);
  const before = launch.again === undefined ? undefined : await readKept(context, launch.again.before);
  if (launch.again !== undefined && before === undefined) return notKept(context, launch);
  const own = startOf(agent, before === undefined ? launch : withInput(launch, before));
  const start = { ...own, parentSpan: spans.parentOf(execId) };
  const attempt = await Attempt.open({
    context,
    start,
    channel,
    publisher,
    ports,
    blobs,
    register,
    spans,
    before,
  });
  const engine = new RestateEngine(attempt, { isWatched, restart });
  try {
    if (before === undefined) attempt.record({ type: "started", input: launch.input });
    const outcome = withinSize(execId, await options.createContext(engine, ports).run());
    const end = eventOfEnd(outcome);
    if (end !== undefined) attempt.record(end);
    await publisher.flush();
    const status = outcome.status === "timedOut" ? "failed" : outcome.status;
    const used = engine.used.toJSON(start.supervision, execId as ExecId, status);
    const account = { ...used, ...cutOffOf(outcome) };
    const ended = { at: engine.now(), outcome: outcomeToJSON(outcome), account, settle: attempt.unsettled };
    return { ...ended, isKept: engine.isKept, retry: launch.again?.n };
  } catch (error) {
    const { suspension } = attempt;
    if (over.aborted || error instanceof restate.TerminalError) throw error;
    if (suspension === undefined) {
      // As when the history cannot be saved: the server retries soon, and everybody who waits for the run can see why.
      await reportParked(options, channel, execId, error, over);
      throw error;
    }
    const { restarting } = engine;
    if (restarting === undefined) throw await park(options, context, channel, launch, suspension.cause);
    tellLog(ports.logger, "warn", `${execId} crashed and is restarted: ${suspension.reason}`);
    throw new restate.RetryableError(suspension.reason, { retryAfter: restarting.delayMs });
  }
}

/** The input of a root is not kept in its tree. */
function withInput(launch: Launch, { input, attachments }: Kept): Launch {
  return { ...launch, input, attachments };
}

/** The server has forgotten what the execution did. To do all of it again would be paid for again. */
async function notKept(context: restate.Context, { execId, again }: Launch): Promise<Ended> {
  const error = new InvalidValueError({
    field: "resume options.retryFailed",
    value: true,
    expected: `the record of ${execId}, which the server has kept no longer than retentionS`,
  });
  const at = await context.date.now();
  return { at, outcome: { status: "failed", failure: errorToJSON(error) }, settle: [], retry: again?.n };
}

/** The outcome, or a failure if it is too large for the server. */
function withinSize(execId: string, outcome: HireOutcome): HireOutcome {
  const bytes = bytesOf(outcomeToJSON(outcome));
  return bytes <= MOST ? outcome : { status: "failed", error: tooLarge(`the result of ${execId}`, bytes) };
}

/** Reports why the execution cannot go on here, and keeps its place. The server offers it again later, or `resume` does. */
async function park(
  options: ExecutionOptions,
  context: restate.Context,
  channel: RootChannel,
  { execId }: Launch,
  why: unknown,
): Promise<Error> {
  await reportParked(options, channel, execId, why, context.request().attemptCompletedSignal);
  return new restate.RetryableError(messageOf(why), { retryAfter: options.parkMs });
}

async function reportParked(
  { ports }: ExecutionOptions,
  channel: RootChannel,
  execId: string,
  why: unknown,
  signal: AbortSignal,
): Promise<void> {
  const error = errorToJSON(why);
  await channel.ask("suspended", { at: ports.clock.now(), execId, error }, signal);
  tellLog(ports.logger, "warn", `${execId} is parked: ${error.message}`);
}

function startOf(agent: Agent, launch: Launch): ExecutionStart {
  const { execId, input, attachments, tenantId, deadline, onPreempt } = launch;
  const supervision = Supervision.fromJSON(launch.supervision);
  const whole = scopeOfRun(launch, supervision);
  const scope = execId === ExecId(whole.runId) ? whole : scopeForWorker(whole, supervision.agentId);
  return {
    agent,
    execId: execId as ExecId,
    supervision,
    input,
    attachments,
    scope,
    tenantId,
    deadline,
    onPreempt,
    isResumed: false,
  };
}
