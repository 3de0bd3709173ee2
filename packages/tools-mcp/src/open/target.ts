import type { AuthProvider, Transport } from "@modelcontextprotocol/client";
import { checkFields, InvalidValueError, type MaybePromise, type TimerHandle, ToolError } from "@ravi/kernel";
import { checkRecord, messageOf, type TimerClock } from "@ravi/kernel/loop";
import { checkHeaders, namesOnly } from "@ravi/kernel/provider";
import { carefulFetch } from "../http/careful-fetch.ts";
import { HttpTransport } from "../http/http-transport.ts";
import { refuse, texts } from "../options.ts";
import { inAddress, secretValues } from "../secrets.ts";
import { checkProcesses, ChildTransport } from "../stdio/child-transport.ts";
import { environmentOf } from "../stdio/environment.ts";
import type { FloodGate } from "./flood-gate.ts";

/** A server that is started as a process of its own. It runs without a shell. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables for the server, beside a few of this process's own such as PATH and HOME. It gets no others. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Default: the folder of this process. */
  readonly cwd?: string | undefined;
}

/** A server that is reached over Streamable HTTP. */
export interface McpAddress {
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called before each request. What it returns is sent as `Authorization: Bearer …`. */
  readonly token?: (() => MaybePromise<string | undefined>) | undefined;
}

/** What a connection needs to know of a server. */
export interface Target {
  /** For errors, before the server has said what it is called. No arguments and queries: secrets may be in them. */
  readonly name: string;
  /** Another list after each new token. */
  readonly secrets: () => readonly string[];
  open(parts: TransportParts): OpenTransport;
}

interface TransportParts {
  readonly clock: TimerClock;
  readonly gate: FloodGate;
  readonly timeoutMs: number;
  /** Removes secrets from what an error is to show. */
  readonly clean: (text: string) => string;
  /** Told why the connection is lost, if it is known. */
  readonly onLost: (reason: string) => void;
}

export interface OpenTransport {
  readonly transport: Transport;
  /** Ends it for good. Returns when nothing is left of it. */
  close(): Promise<void>;
}

const GOODBYE_MS = 2_000;
/** Before a stream is opened again: the client's own default. */
const LEAST_REST_MS = 1_000;
const MAX_TOKENS = 20;
const EXPECTED = '{ command: "…" } to start a server, or { url: "https://…" } to reach one';

export function targetOf(given: McpCommand | McpAddress): Target {
  const server = checkRecord("server", given, EXPECTED);
  if (server["command"] !== undefined && server["url"] === undefined)
    return commandTarget(given as McpCommand);
  if (server["url"] !== undefined && server["command"] === undefined)
    return addressTarget(given as McpAddress);
  throw new InvalidValueError({ field: "server", value: namesOnly(given), expected: EXPECTED });
}

function commandTarget(given: McpCommand): Target {
  checkFields("server", namesOnly(given), ["command", "args", "env", "cwd"]);
  const { command, cwd } = given;
  if (typeof command !== "string" || command === "")
    refuse("server.command", command, "the program to start, such as npx");
  if (cwd !== undefined && (typeof cwd !== "string" || cwd === "")) refuse("server.cwd", cwd, "a folder");
  checkProcesses();
  const args = texts("server.args", given.args) ?? [];
  const env = variables(given.env);
  const secrets = [...secretValues(env), ...args.flatMap(inAddress)];
  return {
    name: command.split(/[/\\]/).at(-1) ?? command,
    secrets: () => secrets,
    open: ({ clock, gate, clean, onLost }) => {
      const isWindows = process.platform === "win32";
      const environment = environmentOf(process.env, env, isWindows);
      const parts = { clock, gate, clean, onLost };
      const transport = new ChildTransport({ command, args, env: environment, cwd, ...parts });
      return { transport, close: () => transport.close() };
    },
  };
}

function variables(given: McpCommand["env"]): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  const expected = 'a plain object of strings, such as { LOG_LEVEL: "debug" }';
  for (const [name, value] of Object.entries(checkRecord("server.env", given, expected))) {
    if (typeof value === "string") continue;
    throw new InvalidValueError({ field: `server.env.${name}`, value: typeof value, expected: "a string" });
  }
  return { ...given };
}

function addressTarget(given: McpAddress): Target {
  checkFields("server", namesOnly(given), ["url", "headers", "token"]);
  checkHeaders(given.headers);
  const { url: address, token } = given;
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return refuse("server.url", "(not shown)", "a URL that begins with http:// or https://");
  if (token !== undefined && typeof token !== "function")
    refuse("server.token", "(not shown)", "a function that returns the token");
  const headers = { ...given.headers };
  const own = [...secretValues(headers), ...inAddress(url.href)];
  let secrets: readonly string[] = own;
  const addToken = (text: string): void => {
    if (secrets.includes(text)) return;
    const tokens = secrets.slice(own.length);
    // A server may repeat one that has been replaced since, but not for ever.
    secrets = [...own, ...tokens.slice(-MAX_TOKENS), text];
  };
  return {
    name: url.host,
    secrets: () => secrets,
    open: (parts) => {
      const ask = token && (() => asked(token, url.host, parts.clean));
      return openAddress(url, headers, authOf(ask, addToken), parts);
    },
  };
}

function authOf(
  ask: (() => Promise<unknown>) | undefined,
  addToken: (text: string) => void,
): AuthProvider | undefined {
  if (ask === undefined) return undefined;
  return {
    token: async () => {
      const text = await ask();
      if (text === undefined) return undefined;
      if (typeof text !== "string")
        return refuse("server.token()", "(not shown)", "a string, or undefined for none");
      addToken(text);
      return text;
    },
  };
}

/** Without a token nothing is sent, so this is no failure of the server. */
async function asked(
  token: () => MaybePromise<unknown>,
  host: string,
  clean: TransportParts["clean"],
): Promise<unknown> {
  try {
    return await token();
  } catch (error) {
    const why = `nothing was sent to the MCP server ${host}: server.token() failed: ${messageOf(error)}`;
    throw new ToolError({ message: clean(why) });
  }
}

function openAddress(
  url: URL,
  headers: Record<string, string>,
  authProvider: AuthProvider | undefined,
  { clock, gate, timeoutMs, onLost }: TransportParts,
): OpenTransport {
  const lose = (reason: string): void => {
    onLost(reason);
    void transport.close();
  };
  const waiting = new Set<TimerHandle>();
  const transport = new HttpTransport(url, {
    requestInit: { headers },
    // The transport forgets all but the last of its timers. A server says how long they take: the process would be kept for as long; or
    // asked without end, if that is no time at all.
    reconnectionScheduler: (reconnect, givenMs) => {
      const delayMs = Math.max(givenMs, LEAST_REST_MS);
      const timer = clock.setTimer(() => {
        waiting.delete(timer);
        reconnect();
      }, delayMs);
      waiting.add(timer);
    },
    fetch: carefulFetch({ gate, clock, noticeTimeoutMs: timeoutMs, onFlood: lose }),
    ...(authProvider !== undefined && { authProvider }),
  });
  // Called before the client's own, which takes this place when it connects and passes messages on to it.
  const onmessage = (message: unknown): void => {
    transport.noteAnswer(message);
    const flood = gate.take({ messages: 1 });
    if (flood !== undefined) lose(flood);
  };
  Object.assign(transport, { onmessage });
  return {
    transport,
    close: async () => {
      // So that the server can forget the session. One that does not answer in time will find out by itself. Not even the end of that
      // request is waited for: it may wait for a token.
      const late = Promise.withResolvers<void>();
      const timer = clock.setTimer(late.resolve, GOODBYE_MS);
      await Promise.race([transport.terminateSession().catch(() => undefined), late.promise]);
      timer.cancel();
      await transport.close();
      for (const each of waiting) each.cancel();
    },
  };
}
