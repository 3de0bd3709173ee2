import { Client, type JsonSchemaValidator } from "@modelcontextprotocol/client";
import { type AbortSignalLike, isRaviError, ToolError } from "@ravi/kernel";
import { abortable, type TimerClock } from "@ravi/kernel/loop";
import { field } from "@ravi/kernel/provider";
import { statusOf, whyNot } from "../failure.ts";
import type { McpClient } from "../model.ts";
import { type Cleaning, cleaning } from "../secrets.ts";
import type { Link } from "../tools/link.ts";
import { FloodGate } from "./flood-gate.ts";
import type { OpenTransport, Target } from "./target.ts";

interface Session {
  readonly client: Client;
  readonly end: () => Promise<void>;
}

export interface ConnectionOptions {
  readonly target: Target;
  /** What errors call the server. */
  readonly name: string;
  readonly secrets: readonly string[];
  readonly connectTimeoutS: number;
  readonly clock: TimerClock;
}

/** The client checks results only where it is told a schema for them, and it is told none: see `toolOf`. */
const NO_VALIDATION = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};

/**
 * Keeps the connection to a server: when it is lost, the next call connects again, once. A call that was under way is not sent again,
 * since it may have been carried out.
 */
export class Connection implements Link {
  lost: string | undefined;
  private readonly options: ConnectionOptions;
  private readonly gate: FloodGate;
  private readonly ended = new WeakMap<OpenTransport, Promise<void>>();
  private readonly ending = new Set<Promise<void>>();
  private session: Session | undefined;
  private opening: Promise<Session> | undefined;
  private current: OpenTransport | undefined;
  private closed: Promise<void> | undefined;
  private cleaned: { readonly secrets: readonly string[]; readonly cleaning: Cleaning } | undefined;

  constructor(options: ConnectionOptions) {
    this.options = options;
    this.gate = new FloodGate(options.clock);
  }

  async connected(signal: AbortSignalLike | undefined): Promise<Client> {
    if (this.closed !== undefined) throw this.failure("was closed");
    if (this.session !== undefined) return this.session.client;
    this.opening ??= this.open().finally(() => (this.opening = undefined));
    return (await abortable(this.opening, signal)).client;
  }

  /** Made anew when a token has come that was not known. */
  get cleaning(): Cleaning {
    const { target, secrets } = this.options;
    const known = target.secrets();
    if (this.cleaned?.secrets !== known)
      this.cleaned = { secrets: known, cleaning: cleaning([...secrets, ...known]) };
    return this.cleaned.cleaning;
  }

  noteFailure(error: unknown, client: McpClient): void {
    // A call of an earlier session may fail when there is a new one already.
    if (client !== this.session?.client || !isSessionOver(error)) return;
    this.leave("the server has ended the session");
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll();
    return this.closed;
  }

  private async closeAll(): Promise<void> {
    this.leave("it was closed");
    // One that is still being opened is not a session yet.
    this.lost ??= "it was closed";
    const opening = this.opening;
    if (this.current !== undefined) void this.end(this.current);
    await opening?.catch(() => undefined);
    await Promise.all(this.ending);
  }

  private leave(reason: string): void {
    const { session } = this;
    if (session === undefined) return;
    this.session = undefined;
    this.lost = reason;
    void session.end();
  }

  private async open(): Promise<Session> {
    const { target, clock, connectTimeoutS } = this.options;
    const timeoutMs = connectTimeoutS * 1_000;
    this.lost = undefined;
    const lose = (reason: string): void => {
      if (this.current === undefined || this.current === opened) this.lost ??= reason;
    };
    const clean = (text: string): string => this.cleaning.inErrors(text);
    const opened = target.open({ clock, gate: this.gate, timeoutMs, clean, onLost: lose });
    this.current = opened;
    const client = new Client({ name: "ravi", version: "1" }, { jsonSchemaValidator: NO_VALIDATION });
    const session: Session = { client, end: () => this.end(opened) };
    let isOver = false;
    const onclose = (): void => {
      isOver = true;
      if (this.session === session) this.session = undefined;
      void this.end(opened);
    };
    Object.assign(client, { onclose });
    try {
      await client.connect(opened.transport, { timeout: timeoutMs });
      if (this.closed !== undefined) throw this.failure("was closed");
      // It may have ended while its answer was read.
      if (isOver) throw new Error("the connection was lost");
    } catch (error) {
      const { lost } = this;
      await this.end(opened);
      if (isRaviError(error)) throw error;
      throw this.failure(`could not be reached: ${whyNot(error, lost, connectTimeoutS, clean)}`);
    }
    this.session = session;
    return session;
  }

  /** Once for each; `close` waits for all. */
  private end(opened: OpenTransport): Promise<void> {
    if (this.current === opened) this.current = undefined;
    const known = this.ended.get(opened);
    if (known !== undefined) return known;
    // Later, because it calls `onclose`, which comes back here.
    const ended = Promise.resolve()
      .then(() => opened.close())
      .catch(() => undefined)
      .finally(() => this.ending.delete(ended));
    this.ended.set(opened, ended);
    this.ending.add(ended);
    return ended;
  }

  private failure(what: string): ToolError {
    const { name } = this.options;
    return new ToolError({
      toolName: name,
      message: this.cleaning.inErrors(`the MCP server ${name} ${what}`),
    });
  }
}

/** Over HTTP: the server does not know the session any more. The next call begins a new one. */
function isSessionOver(error: unknown): boolean {
  const status = statusOf(error);
  // The protocol asks for 404. Many servers, made after the official examples, say "Bad Request: No valid session ID" or "Server not
  // initialized" instead when they were started again.
  return (
    status === 404 ||
    (status === 400 && /session|initiali[sz]/i.test(String(field(field(error, "data"), "text"))))
  );
}
