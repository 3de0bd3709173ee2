import { InvalidValueError, ToolError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { pause, retryDelay } from "./pause.ts";
import { describeStatus, serverUrl } from "./server-url.ts";

export interface IngressOptions {
  /** The server's ingress, for example `http://localhost:8080`. */
  readonly url: string;
  readonly fetch?: typeof fetch | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The handler that a request goes to. */
export interface Target {
  readonly service: string;
  readonly key: string;
  readonly handler: string;
}

/** Requests to the server's ingress. A request that did not arrive is sent again until `signal` aborts. */
export class Ingress {
  private readonly url: string;
  private readonly send: typeof fetch;
  private readonly headers: Readonly<Record<string, string>>;

  constructor({ url, fetch: send = fetch, headers = {} }: IngressOptions) {
    this.url = serverUrl("ingress", url, "http://localhost:8080");
    this.send = send;
    this.headers = headers;
  }

  /** Calls a handler and returns its answer. Gives up after `patienceMs`. Throws a `ToolError` if the server refuses. */
  async call<T>(target: Target, message: unknown, signal: AbortSignal, patienceMs = Infinity): Promise<T> {
    const text = await this.post(target, "", message, signal, patienceMs);
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /** Resolves when the server has accepted the message; it is processed once. */
  async tell(target: Target, message: unknown, signal: AbortSignal): Promise<void> {
    await this.post(target, "/send", message, signal);
  }

  /** Resolves when the workflow of that key is over, or the server stops waiting. */
  async whenOver(service: string, key: string, signal: AbortSignal): Promise<void> {
    const path = `${this.url}/restate/workflow/${service}/${segmentOf(key)}/attach`;
    const response = await this.send(path, { headers: this.headers, signal, redirect: "manual" });
    await response.text();
  }

  private async post(
    { service, key, handler }: Target,
    suffix: string,
    said: unknown,
    signal: AbortSignal,
    patienceMs = Infinity,
  ): Promise<string> {
    const until = performance.now() + patienceMs;
    const path = `${this.url}/${service}/${segmentOf(key)}/${handler}${suffix}`;
    const body = JSON.stringify(said ?? null);
    const headers = { ...this.headers, "content-type": "application/json" };
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      const answer = await this.attempt(path, { method: "POST", headers, body, signal, redirect: "manual" });
      if (answer.ok) return answer.text;
      if (!answer.isPassing || performance.now() >= until) {
        const { status, text } = answer;
        const what =
          status === 0
            ? `cannot reach the Restate server at ${this.url}: ${text.slice(0, 500)}`
            : `the Restate server ${describeStatus(status, text)}`;
        const message = `${service}/${handler}: ${what}`;
        throw new ToolError({ toolName: "restate", message, retryable: answer.isPassing });
      }
      await pause(retryDelay(attempt), signal);
    }
  }

  private async attempt(
    path: string,
    init: RequestInit & { signal: AbortSignal },
  ): Promise<{ ok: boolean; isPassing: boolean; status: number; text: string }> {
    try {
      const response = await this.send(path, init);
      const text = await response.text();
      const { ok, status } = response;
      // 404 means that the services are not registered yet. A handler that failed for good answers with 500.
      const isPassing =
        status === 404 || status === 429 || status === 502 || status === 503 || status === 504;
      return { ok, isPassing, status, text };
    } catch (error) {
      init.signal.throwIfAborted();
      return { ok: false, isPassing: true, status: 0, text: messageOf(error) };
    }
  }
}

/** Encodes a key as one part of a path. `.` and `..` cannot be encoded: a URL parser resolves them in any notation. */
function segmentOf(key: string): string {
  if (key !== "." && key !== "..") return encodeURIComponent(key);
  const expected = 'an id other than "." and "..", which cannot be part of a URL';
  throw new InvalidValueError({ field: "runId", value: key, expected });
}
