import {
  type AuditEntry,
  type AuditLog,
  CancellationError,
  type JsonObject,
  type LLMClient,
  MiddlewareError,
  type ModelEvent,
  type ModelResponse,
  type RunContext,
  type Span,
  type Telemetry,
  type Tool,
  totalTokens,
} from "@ravi/kernel";
import { auditedFailure, messageOf, quietly } from "@ravi/kernel/loop";
import { withCalls } from "./with-calls.ts";
import { withExecute } from "./with-execute.ts";

export interface ObserverOptions {
  readonly telemetry?: Telemetry | undefined;
  readonly auditLog?: AuditLog | undefined;
}

/** One piece of work under observation. Call exactly one of `end` and `fail`, once. */
export interface Observation {
  readonly span: Span | undefined;
  end(): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/**
 * Puts a span and two audit entries around every call. It wraps the model's and the tool's own work, which a replay does not repeat, so
 * that each piece of work is reported once.
 */
export class Observer {
  private readonly ctx: RunContext;
  private readonly telemetry: Telemetry | undefined;
  private readonly auditLog: AuditLog | undefined;
  /** Whether there is anybody to report to. */
  readonly isActive: boolean;

  constructor(ctx: RunContext, { telemetry, auditLog }: ObserverOptions) {
    this.ctx = ctx;
    this.telemetry = telemetry;
    this.auditLog = auditLog;
    this.isActive = telemetry !== undefined || auditLog !== undefined;
  }

  /** Writes an audit entry for something that was not allowed. */
  async denied(action: string, target: string, reason: string): Promise<void> {
    await this.audit({ action, target, outcome: "denied", details: { reason } });
  }

  /** Observes one piece of work. If its audit entry cannot be written, the work does not start. */
  async around<R>(action: string, target: string, work: (span: Span | undefined) => Promise<R>): Promise<R> {
    const observation = await this.begin(action, target);
    let result: R;
    try {
      result = await work(observation.span);
    } catch (error) {
      await observation.fail(error);
      throw error;
    }
    await observation.end();
    return result;
  }

  /** Throws if the audit entry cannot be written; then the work must not start. */
  async begin(action: string, target: string): Promise<Observation> {
    const { agentId, execId } = this.ctx;
    const span = this.startSpan(action, { target, agentId, execId });
    const write = async (
      phase: "begin" | "end",
      how: Pick<AuditEntry, "outcome" | "details">,
      failure?: unknown,
    ): Promise<void> => {
      try {
        await this.audit({ action: `${action}.${phase}`, target, ...how }, failure);
      } catch (error) {
        span?.recordError(error);
        span?.end();
        throw error;
      }
    };
    await write("begin", { outcome: "ok" });
    return {
      span,
      async end() {
        await write("end", { outcome: "ok" });
        span?.end();
      },
      async fail(error) {
        span?.recordError(error);
        await write("end", auditedFailure(error), error);
        span?.end();
      },
    };
  }

  private startSpan(name: string, attributes: JsonObject): Span | undefined {
    const span = quietly(() => this.telemetry?.startSpan(name, attributes));
    return (
      span && {
        setAttribute: (key, value) => quietly(() => span.setAttribute(key, value)),
        recordError: (error) => quietly(() => span.recordError(error)),
        end: () => quietly(() => span.end()),
      }
    );
  }

  model(model: LLMClient): LLMClient {
    const { id } = model;
    return withCalls(model, {
      generate: (request, options) =>
        this.around("llm", id, async (span) => {
          const response = await model.generate(request, options);
          this.reportUsage(span, id, response);
          return response;
        }),
      stream: (make) => this.streamed(id, make),
    });
  }

  private async *streamed(
    target: string,
    make: () => AsyncIterable<ModelEvent>,
  ): AsyncGenerator<ModelEvent, void> {
    const observation = await this.begin("llm", target);
    let failure: unknown = new CancellationError({ reason: "the reader of the answer stopped reading" });
    try {
      for await (const event of make()) {
        if (event.type === "finish") {
          this.reportUsage(observation.span, target, event.response);
          failure = undefined;
        }
        yield event;
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      await (failure === undefined ? observation.end() : observation.fail(failure));
    }
  }

  private reportUsage(span: Span | undefined, target: string, { usage }: ModelResponse): void {
    if (usage === undefined) return;
    span?.setAttribute("inputTokens", usage.inputTokens);
    span?.setAttribute("outputTokens", usage.outputTokens);
    const { agentId } = this.ctx;
    quietly(() => this.telemetry?.metric("tokens", totalTokens(usage), { target, agentId }));
  }

  tool(tool: Tool): Tool {
    return withExecute(tool, (args, context) =>
      this.around("tool", tool.name, async () => tool.execute(args, context)),
    );
  }

  /** `failure` is that of the work. It is reported together with that of the log. */
  private async audit(entry: Omit<AuditEntry, "at" | "actor">, failure?: unknown): Promise<void> {
    const { ctx, auditLog } = this;
    if (auditLog === undefined) return;
    const { agentId: actor, execId } = ctx;
    const { runId, userId } = ctx.scope;
    const { action, target } = entry;
    try {
      const details = { runId, execId, userId, ...entry.details };
      await auditLog.append({ at: ctx.meta.now(), actor, ...entry, details });
    } catch (error) {
      const problem = `the audit log could not record ${action} of ${target} (${messageOf(error)}); what cannot be recorded is not allowed`;
      const cause = failure === undefined ? error : new AggregateError([failure, error]);
      throw new MiddlewareError({ layer: "audit", problem, cause });
    }
  }
}
