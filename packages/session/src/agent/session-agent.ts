import {
  type AbortSignalLike,
  type AgentResult,
  checkBoolean,
  checkFields,
  type Inbox,
  InvalidValueError,
  type LLMClient,
  type RunContext,
  type RunEvent,
  Supervision,
} from "@ravi/kernel";
import {
  AgentBase,
  bareContext,
  type BareContextOptions,
  checkHost,
  checkModel,
  checkText,
  ownAttachments,
} from "@ravi/kernel/loop";
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
import { Mailbox, type Queued } from "../queue/mailbox.ts";
import type { SessionManager } from "../tree/session.ts";
import { childOptions, childTools } from "./children.ts";
import { Gate, type SessionPhase } from "./gate.ts";
import { Navigator } from "./navigator.ts";
import type { InvokeOptions, SessionAgentOptions, SpawnChildOptions } from "./options.ts";
import { checkAllowed, checkInput, type Plan, planFor } from "./plan.ts";
import { Runner, type SessionState } from "./runner.ts";
import { type Running, SessionEmitter } from "./emitter.ts";
import { type Inheritance, PartsLoader } from "./parts-loader.ts";

/**
 * A long-lived conversation. One object has one conversation open at a time and does one thing at a time; an operation that
 * needs it idle throws a `SessionBusyError` at once if it is busy.
 */
export class SessionAgent extends AgentBase implements ExtensionContext {
  readonly cwd: string;
  readonly modelRegistry: ModelRegistry;
  /** The checked options. */
  private readonly plan: Plan;
  /** What a child of `spawnChild` has from its parent. */
  private readonly inherited: Inheritance | undefined;
  /** Opens, begins and switches sessions. */
  private readonly navigator: Navigator;
  /** Tells extensions and observers what happens. */
  private readonly emitter: SessionEmitter;
  /** Loads prompts, extensions, guardrails and tools. */
  private readonly loader: PartsLoader;
  /** Runs the turns. */
  private readonly runner: Runner;
  private readonly state: SessionState;
  /** Messages that no turn has read, by the session that they are for, of sessions that are not open. */
  private readonly waiting = new Map<string, readonly Queued[]>();
  /** Lets only one thing be done at a time. */
  private readonly gate = new Gate();

  /** Throws an `InvalidValueError` if an option is wrong. `inherited` is only for `spawnChild`. */
  constructor(options: SessionAgentOptions, inherited?: Inheritance) {
    const plan = planFor(options);
    const budget = options.executionBudget;
    const defaults = budget === undefined ? undefined : Object.freeze({ executionBudget: budget });
    super(plan.id, options, defaults);
    this.plan = plan;
    this.inherited = inherited;
    this.cwd = plan.cwd;
    const state: SessionState = { gate: this.gate, model: options.model, queued: [] };
    this.state = state;
    const models = [...new Set([options.model, ...(options.models ?? [])])];
    this.modelRegistry = { get: (id) => models.find((model) => model.id === id), list: () => [...models] };
    this.navigator = new Navigator(plan);
    const emitter = (this.emitter = new SessionEmitter(this));
    const children = childTools(this, options.children ?? [], () => this.loader.toolNames);
    const loader = (this.loader = new PartsLoader(plan, emitter, children, inherited));
    this.runner = new Runner({ plan, emitter, loader, state, inherited });
  }

  /** What the session is doing now. */
  get phase(): SessionPhase {
    return this.gate.phase;
  }
  /** The model that answers now. */
  get model(): LLMClient {
    return this.state.model;
  }
  /** The open session. Throws an `InvalidValueError` before `open()` or the first turn. */
  get sessionManager(): SessionManager {
    return this.navigator.manager;
  }
  /** Aborts when the running turn is aborted; undefined while idle. */
  get signal(): AbortSignalLike | undefined {
    return this.emitter.signal;
  }
  /** Errors of extensions, guardrails and sources of live state: the newest 100. */
  get errors(): readonly CollectedError[] {
    return this.emitter.host.errors;
  }

  /**
   * Runs a turn, and one more for each follow-up that comes meanwhile. Returns the result of the last turn, or throws its
   * error. Throws a `SessionBusyError` if a turn is running.
   */
  async invoke(input: string, options: InvokeOptions = {}): Promise<AgentResult> {
    this.gate.assertIdle("invoke");
    checkFields("invoke options", options, ["channel", "signal", "attachments"]);
    const { channel } = options;
    if (channel !== undefined) checkText("invoke options.channel", channel);
    const attachments = ownAttachments("invoke options.attachments", options.attachments);
    checkInput("input", input, attachments);
    const ctx = this.ownContext({
      signal: options.signal,
      metadata: channel === undefined ? {} : { channel },
    });
    try {
      const given = { input, attachments };
      return await this.run(ctx, new OwnInbox(given, this.state.queued, () => this.plan.clock.now()));
    } finally {
      ctx.meta.cancellation.dispose();
    }
  }

  /** Runs under a runtime, which calls this method. In your own code, use `invoke`. */
  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
    checkHost(this, inbox);
    const isOwn = inbox instanceof OwnInbox;
    return this.gate.exclusively("invoke", "turn", async () => {
      const mailbox = new Mailbox(inbox);
      const running: Running = { ctx, isOwn, isOpen: true, mailbox };
      this.emitter.running = running;
      try {
        const session = isOwn ? await this.navigator.openOwn() : await this.navigator.openForRun(ctx);
        return await this.runner.turns({
          ctx,
          session,
          mailbox,
          input: inbox.input,
          attachments: inbox.attachments,
        });
      } finally {
        running.isOpen = false;
        if (isOwn) this.state.queued.unshift(...mailbox.unstored());
        this.emitter.running = undefined;
        await this.afterRun();
      }
    });
  }

  /**
   * Sends a message to the running turn, which reads it between two model calls. Throws an `InvalidValueError` if no turn of
   * `invoke` is running.
   */
  steer(message: string, options?: Pick<InvokeOptions, "attachments">): void {
    this.enqueue("steer", message, options);
  }

  /**
   * Queues a message that begins another turn when the running one is over. Throws an `InvalidValueError` if no turn of
   * `invoke` is running.
   */
  followUp(message: string, options?: Pick<InvokeOptions, "attachments">): void {
    this.enqueue("followUp", message, options);
  }

  /** Aborts the running turn, and does nothing if there is none. Returns the queued messages, which are removed. */
  abort(reason = "aborted by the user"): readonly Queued[] {
    const { running } = this.emitter;
    const read = running?.isOwn === true ? (running.mailbox?.leftover() ?? []) : [];
    const dropped = [...read, ...this.state.queued.splice(0)];
    running?.ctx.meta.cancellation.cancel(reason);
    return dropped;
  }

  /**
   * Events from now on, until the session is closed. Models stream only while events are read, or if an extension has `onEvent`.
   * Under a runtime, read streamed text from the events of the run.
   */
  events(): AsyncIterableIterator<SessionEvent> {
    return this.emitter.hub.subscribe();
  }

  /**
   * Compacts the conversation now. Throws a `SessionBusyError` if the session is busy, and an `InvalidValueError` if it has no
   * strategy.
   */
  async runCompaction(): Promise<CompactionOutcome> {
    return this.gate.exclusively("runCompaction", "compaction", async () => {
      const ctx = this.ownContext();
      this.emitter.running = { ctx, isOwn: true, isOpen: false };
      try {
        return await this.runner.compactNow(ctx, await this.navigator.openOwn());
      } finally {
        ctx.meta.cancellation.dispose();
        this.emitter.running = undefined;
      }
    });
  }

  /** Opens the session without running a turn, so that its entries can be read. */
  open(): Promise<SessionManager> {
    return this.navigate("open", () => this.navigator.openOwn());
  }

  /** Begins a new conversation and returns its id. */
  newSession(): Promise<string> {
    return this.navigate("newSession", () => this.navigator.startNew());
  }

  /**
   * Continues from an earlier entry: on a new branch of this session, or in a new session with a copy of the path to that
   * entry. Returns the id of the branch entry or of the new session.
   */
  async fork(entryId: string, options: ForkOptions = {}): Promise<string> {
    const { newSession, note } = checkFields("fork options", options, ["newSession", "note"]);
    if (newSession !== undefined) checkBoolean("fork options.newSession", newSession);
    if (note !== undefined) checkText("fork options.note", note);
    return this.navigate("fork", () => this.navigator.fork(entryId, options));
  }

  /** Opens another session. If that fails, the current one stays open. */
  async switchSession(id: string): Promise<void> {
    await this.navigate("switchSession", () => this.navigator.switchTo(id));
  }

  /**
   * Continues the conversation with another model, given as a client or by the id of one of the `models`. It stays the model of this
   * object, also after a fork to an earlier entry. Another object that opens the session begins with its own `model`.
   */
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
      const session = await this.navigator.openOwn();
      // A session without any message is not created just to record this.
      if (session.info !== null) await session.append({ kind: "model", model: chosen.id });
      this.state.model = chosen;
    });
  }

  /**
   * Creates an agent with the same model, the same prompt (byte for byte), tools and guardrails, and a conversation that is not
   * stored. Call its `invoke`, or hire it.
   */
  spawnChild(options: SpawnChildOptions = {}): SessionAgent {
    checkAllowed("spawnChild", options, ["tools", "name"]);
    const { plan, loader, inherited } = this;
    const sessionId = inherited?.sessionId ?? this.navigator.currentId;
    // A child's own children may not use tools that the child may not use.
    const limit = inherited?.allowed;
    const allowed =
      limit === undefined ? options.tools : (options.tools ?? limit).filter((tool) => limit.includes(tool));
    const name = options.name ?? `${this.id}-child`;
    return new SessionAgent(childOptions(plan, this.state.model, name), { loader, sessionId, allowed });
  }

  /**
   * Reads prompts, extensions and guardrails again: now, or before the next turn if one is running. Throws if something cannot
   * be read; what was loaded before then stays in use.
   */
  async reload(): Promise<void> {
    this.loader.reload();
    if (this.isIdle()) await this.loader.refresh();
  }

  /** Resolves when no turn or other operation is running. */
  waitForIdle(): Promise<void> {
    return this.gate.whenIdle();
  }

  /** Whether no turn or other operation is running. */
  isIdle(): boolean {
    return this.gate.isIdle;
  }

  /** Whether there are messages that no turn has read yet. */
  hasPendingMessages(): boolean {
    return this.state.queued.length > 0 || this.emitter.running?.mailbox?.hasMore === true;
  }

  /** How many tokens the conversation has, and how many the model can take. */
  contextUsage(): ContextUsage {
    return this.runner.compactor.usage(this.state.model);
  }

  /** The system prompt of the last turn; empty before the first one. */
  systemPrompt(): string {
    return this.loader.lastPrompt;
  }

  /** Requests a compaction after the running turn, or after the next one of the session that is open. */
  compact(): void {
    this.runner.compactor.request(this.navigator.namedId);
  }

  /** Aborts what is running, waits for it to end, and closes the session. */
  async shutdown(): Promise<void> {
    // In a loop: other code that waited for the session to be idle may use it first.
    while (!this.isIdle()) {
      this.abort("the session is shutting down");
      await this.waitForIdle();
    }
    await this.close();
  }

  /**
   * Closes the session and releases its lock, so that others can open it, and ends all `events()`. The agent can still be used:
   * it opens the session again.
   */
  async close(): Promise<void> {
    await this.gate.exclusively("close", "turn", async () => {
      try {
        await this.navigator.close();
      } finally {
        this.emitter.hub.close();
      }
    });
  }

  /** The same as `shutdown`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  /** Goes to another place, and counts what the conversation has there. */
  private navigate<T>(operation: string, go: () => Promise<T>): Promise<T> {
    return this.gate.exclusively(operation, "turn", async () => {
      const from = this.navigator.currentId;
      const result = await go().finally(() => this.changeQueue(from, this.navigator.currentId));
      // If it cannot be read now, it is there all the same. The next turn counts it, or says why it cannot.
      await this.runner.compactor.measure(this.sessionManager).catch(() => undefined);
      return result;
    });
  }

  /** What was queued in one session waits there, and is not said in another one. */
  private changeQueue(from: string, to: string): void {
    if (from === to) return;
    const { queued } = this.state;
    if (queued.length > 0) this.waiting.set(from, queued.splice(0));
    queued.push(...(this.waiting.get(to) ?? []));
    this.waiting.delete(to);
  }

  /** An error while closing is collected only. What was said is stored already, and the answer must not be lost for it. */
  private async afterRun(): Promise<void> {
    try {
      await this.navigator.afterRun();
    } catch (error) {
      this.emitter.host.collect({ source: "session", event: "close", error });
    }
  }

  /** The context of `invoke`, without a runtime. */
  private ownContext({ signal, metadata }: Pick<BareContextOptions, "signal" | "metadata"> = {}): RunContext {
    const { clock, ids, options } = this.plan;
    const { emitter, loader } = this;
    const forward = ({ event }: RunEvent): void => emitter.forward(event);
    return bareContext({
      agent: this,
      supervision: Supervision.root(this.id, { ids, sessionId: this.navigator.id }),
      signal,
      metadata,
      clock,
      ids,
      validator: options.validator,
      // A getter, because somebody may begin to watch while the turn is running.
      get onEvent() {
        return emitter.isWatched || loader.mayAddListeners ? forward : undefined;
      },
    });
  }

  private enqueue(
    kind: Queued["kind"],
    text: string,
    options: Pick<InvokeOptions, "attachments"> = {},
  ): void {
    checkFields(`${kind} options`, options, ["attachments"]);
    const attachments = ownAttachments(`${kind} options.attachments`, options.attachments);
    checkInput("message", text, attachments);
    const { running } = this.emitter;
    if (running?.isOwn === true && running.isOpen) {
      this.state.queued.push({ kind, text, attachments });
      return;
    }
    const expected =
      running?.isOwn === false
        ? `a turn of invoke(); under a runtime, send { ${kind}: text } to the inbox of the run`
        : "a running turn; start one with invoke()";
    throw new InvalidValueError({
      field: `SessionAgent.${kind}`,
      value: this.gate.phase,
      expected,
    });
  }
}
