import {
  type AbortSignalLike,
  type Agent,
  type AgentDefaults,
  type AgentId,
  type AgentResult,
  checkBoolean,
  checkFields,
  type Hooks,
  type Inbox,
  InvalidValueError,
  type LLMClient,
  type Pipelines,
  type RunContext,
  type RunEvent,
  Supervision,
} from "@ravi/kernel";
import { bareContext, checkModel } from "@ravi/kernel/loop";
import type { SessionEvent } from "../extensions/events.ts";
import type {
  CollectedError,
  CompactionOutcome,
  ContextUsage,
  ExtensionContext,
  ForkOptions,
  ModelRegistry,
} from "../extensions/extension.ts";
import { OwnInbox } from "../queue/own-inbox.ts";
import { Mailbox, type Queued } from "../queue/queue.ts";
import type { SessionManager } from "../tree/session.ts";
import { childOptions, childTools } from "./children.ts";
import { Gate, type SessionPhase } from "./gate.ts";
import { Navigator } from "./navigator.ts";
import type { InvokeOptions, SessionAgentOptions, SpawnChildOptions } from "./options.ts";
import { checkAllowed, checkText, type Plan, planFor } from "./plan.ts";
import { Runner, type SessionState } from "./runner.ts";
import { type Running, Stage } from "./stage.ts";
import { type Inheritance, Workshop } from "./workshop.ts";

/**
 * An agent with a conversation that outlives its runs. It holds one session at a time and does one thing at a time: a method that
 * needs it to be idle rejects at once if it is busy.
 *
 * It runs by itself with `invoke`, or under a runtime, which calls `run`.
 */
export class SessionAgent implements Agent, ExtensionContext {
  readonly id: AgentId;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly hooks: Hooks | undefined;
  readonly pipelines: Pipelines | undefined;
  readonly defaults: AgentDefaults | undefined;
  readonly cwd: string;
  readonly modelRegistry: ModelRegistry;
  /** The checked options. */
  private readonly plan: Plan;
  /** What a child of `spawnChild` has from its parent. */
  private readonly inherited: Inheritance | undefined;
  /** Opens, begins and switches sessions. */
  private readonly navigator: Navigator;
  /** Tells extensions and observers what happens. */
  private readonly stage: Stage;
  /** Loads prompts, extensions, guardrails and tools. */
  private readonly workshop: Workshop;
  /** Runs the turns. */
  private readonly runner: Runner;
  private readonly state: SessionState;
  /** Lets only one thing be done at a time. */
  private readonly gate = new Gate();

  constructor(options: SessionAgentOptions, inherited?: Inheritance) {
    const plan = planFor(options);
    this.plan = plan;
    this.inherited = inherited;
    this.id = plan.id;
    this.version = options.version;
    this.description = options.description;
    this.hooks = options.hooks;
    this.pipelines = options.middleware;
    const budget = options.executionBudget;
    this.defaults = budget === undefined ? undefined : Object.freeze({ executionBudget: budget });
    this.cwd = plan.cwd;
    const state: SessionState = { gate: this.gate, model: options.model, queued: [] };
    this.state = state;
    const models = [options.model, ...(options.models ?? [])];
    this.modelRegistry = { get: (id) => models.find((model) => model.id === id), list: () => [...models] };
    this.navigator = new Navigator(plan);
    const stage = (this.stage = new Stage(this));
    const children = childTools(this, options.children ?? [], () => this.workshop.toolNames);
    const workshop = (this.workshop = new Workshop(plan, stage, children, inherited));
    this.runner = new Runner({ plan, stage, workshop, state, inherited });
  }

  get phase(): SessionPhase {
    return this.gate.phase;
  }
  get model(): LLMClient {
    return this.state.model;
  }
  get sessionManager(): SessionManager {
    return this.navigator.manager;
  }
  get signal(): AbortSignalLike | undefined {
    return this.stage.signal;
  }
  /** The last hundred errors that extensions, guardrails and sources have thrown. */
  get errors(): readonly CollectedError[] {
    return this.stage.host.errors;
  }

  /**
   * Runs a turn, and further ones for follow-ups that are queued meanwhile. Gives the result of the last turn, or throws its
   * error.
   */
  async invoke(input: string, options: InvokeOptions = {}): Promise<AgentResult> {
    this.gate.assertIdle("invoke");
    checkText("input", input);
    checkFields("invoke options", options, ["channel", "signal"]);
    const { channel } = options;
    if (channel !== undefined && typeof channel !== "string")
      throw new InvalidValueError({ field: "invoke options.channel", value: channel, expected: "a text" });
    const ctx = this.ownContext({
      signal: options.signal,
      metadata: channel === undefined ? {} : { channel },
    });
    try {
      return await this.run(ctx, new OwnInbox(input, this.state.queued, () => this.plan.clock.now()));
    } finally {
      ctx.meta.cancellation.dispose();
    }
  }

  /** Called by a runtime. Use `invoke` to run it by itself. */
  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
    const isOwn = inbox instanceof OwnInbox;
    return this.gate.exclusively("invoke", "turn", async () => {
      const mailbox = new Mailbox(inbox);
      const running: Running = { ctx, isOwn, isOpen: true, mailbox };
      this.stage.running = running;
      try {
        const session = isOwn ? await this.navigator.own() : await this.navigator.forRun(ctx);
        return await this.runner.turns({ ctx, session, mailbox, input: inbox.input });
      } finally {
        running.isOpen = false;
        if (isOwn) this.state.queued.unshift(...mailbox.leftover());
        this.stage.running = undefined;
        await this.afterRun();
      }
    });
  }

  /** Adds a message to the running turn, before its next model call. Throws if no turn of `invoke` is running. */
  steer(message: string): void {
    this.enqueue({ kind: "steer", text: message });
  }

  /** Queues a message for another turn after the running one. Throws if no turn of `invoke` is running. */
  followUp(message: string): void {
    this.enqueue({ kind: "followUp", text: message });
  }

  /** Cancels the running turn. Empties the queue and returns what was in it. */
  abort(reason = "aborted by the user"): readonly Queued[] {
    const { running } = this.stage;
    const read = running?.isOwn === true ? (running.mailbox?.leftover() ?? []) : [];
    const dropped = [...read, ...this.state.queued.splice(0)];
    running?.ctx.meta.cancellation.cancel(reason);
    return dropped;
  }

  /** Events from now on. Models are streamed only while somebody reads them. Under a runtime, streamed text is in the run's events. */
  events(): AsyncIterableIterator<SessionEvent> {
    return this.stage.hub.subscribe();
  }

  /** Compacts the session now. Rejects if it is busy. */
  async runCompaction(): Promise<CompactionOutcome> {
    return this.gate.exclusively("runCompaction", "compaction", async () => {
      const ctx = this.ownContext({});
      this.stage.running = { ctx, isOwn: true, isOpen: false };
      try {
        return await this.runner.compactNow(ctx, await this.navigator.own());
      } finally {
        ctx.meta.cancellation.dispose();
        this.stage.running = undefined;
      }
    });
  }

  /** Opens the session without running a turn, so that it can be read. */
  open(): Promise<SessionManager> {
    return this.gate.exclusively("open", "turn", () => this.navigator.own());
  }

  /** Begins a new session and gives its id. */
  newSession(): Promise<string> {
    return this.gate.exclusively("newSession", "turn", () => this.navigator.begin());
  }

  /**
   * Goes back to an entry, to continue from there: as a branch of this session, or as a new session. Gives the id of the
   * branch's first entry, or of the new session.
   */
  async fork(entryId: string, options: ForkOptions = {}): Promise<string> {
    const { newSession, note } = checkFields("fork options", options, ["newSession", "note"]);
    if (newSession !== undefined) checkBoolean("fork options.newSession", newSession);
    if (note !== undefined && typeof note !== "string")
      throw new InvalidValueError({ field: "fork options.note", value: note, expected: "a text" });
    return this.gate.exclusively("fork", "turn", () => this.navigator.fork(entryId, options));
  }

  async switchSession(id: string): Promise<void> {
    await this.gate.exclusively("switchSession", "turn", () => this.navigator.choose(id));
  }

  /** Continues the conversation with another model: an `LLMClient`, or the id of one of `modelRegistry`. */
  async setModel(model: LLMClient | string): Promise<void> {
    const chosen = typeof model === "string" ? this.modelRegistry.get(model) : model;
    if (chosen === undefined) {
      const expected = `one of ${this.modelRegistry
        .list()
        .map(({ id }) => id)
        .join(", ")}, or an LLMClient`;
      throw new InvalidValueError({ field: "model", value: model, expected });
    }
    checkModel("model", chosen);
    await this.gate.exclusively("setModel", "turn", async () => {
      const session = await this.navigator.own();
      // A session without any messages is not stored just for that.
      if (session.info !== null) await session.append({ kind: "model", model: chosen.id });
      this.state.model = chosen;
    });
  }

  /**
   * Makes an agent with the same model, system prompt, tools and guardrails, whose session is only in memory. Run it by itself, or
   * hire it.
   */
  spawnChild(options: SpawnChildOptions = {}): SessionAgent {
    checkAllowed("spawnChild", options, ["tools", "name"]);
    const { plan, workshop, inherited } = this;
    const sessionId = inherited?.sessionId ?? this.navigator.currentId;
    // A child may not give its own children more tools than it has.
    const limit = inherited?.allowed;
    const allowed =
      limit === undefined ? options.tools : (options.tools ?? limit).filter((tool) => limit.includes(tool));
    const name = options.name ?? `${this.id}-child`;
    return new SessionAgent(childOptions(plan, this.state.model, name), { workshop, sessionId, allowed });
  }

  /** Loads prompts, extensions and guardrails again: now, or before the next turn if one is running. */
  async reload(): Promise<void> {
    this.workshop.reload();
    if (this.isIdle()) await this.workshop.refresh();
  }

  waitForIdle(): Promise<void> {
    return this.gate.whenIdle();
  }

  isIdle(): boolean {
    return this.gate.isIdle;
  }

  hasPendingMessages(): boolean {
    return this.state.queued.length > 0 || this.stage.running?.mailbox?.hasMore === true;
  }

  contextUsage(): ContextUsage {
    return this.runner.compactor.usage(this.state.model);
  }

  systemPrompt(): string {
    return this.workshop.lastPrompt;
  }

  /** Asks for a compaction after the running turn. */
  compact(): void {
    this.runner.compactor.ask();
  }

  /** Cancels what is running, waits for its end, and closes. */
  async shutdown(): Promise<void> {
    // Somebody else who waits for it to be idle may start something first.
    while (!this.isIdle()) {
      this.abort("the session is shut down");
      await this.waitForIdle();
    }
    await this.close();
  }

  /**
   * Releases the session, so that others can open it, and ends `events`. The agent can be used again: it then opens the session
   * anew.
   */
  async close(): Promise<void> {
    await this.gate.exclusively("close", "turn", async () => {
      try {
        await this.navigator.close();
      } finally {
        this.stage.hub.close();
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  /** A session that cannot be released is only reported. The conversation is stored, and its answer must not be lost. */
  private async afterRun(): Promise<void> {
    try {
      await this.navigator.afterRun();
    } catch (error) {
      this.stage.host.collect({ source: "session", event: "close", error });
    }
  }

  /** The context of `invoke`, without a runtime. */
  private ownContext({
    signal,
    metadata,
  }: {
    signal?: AbortSignalLike | undefined;
    metadata?: { channel?: string };
  }): RunContext {
    const { clock, ids, options } = this.plan;
    const { stage, workshop } = this;
    const hear = ({ event }: RunEvent): void => stage.heard(event);
    return bareContext({
      agent: this,
      supervision: Supervision.root(this.id, { ids, sessionId: this.navigator.id }),
      signal,
      metadata,
      clock,
      ids,
      validator: options.validator,
      // A getter, because somebody may start to watch in the middle of a turn.
      get onEvent() {
        return stage.isWatched || workshop.mayBring ? hear : undefined;
      },
    });
  }

  private enqueue(message: Queued): void {
    checkText("message", message.text);
    const { running } = this.stage;
    if (running?.isOwn === true && running.isOpen) {
      this.state.queued.push(message);
      return;
    }
    const expected =
      running?.isOwn === false
        ? `a run of its own; under a runtime, send { ${message.kind}: text } to its inbox`
        : "a running turn; begin one with invoke()";
    throw new InvalidValueError({
      field: `SessionAgent.${message.kind}`,
      value: this.gate.phase,
      expected,
    });
  }
}
