import { type RunSummary, ToolError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { EXECUTION, ROOT, SUMMARY, TOPIC, WATCHER } from "../names.ts";
import { pause, retryDelay } from "../pause.ts";
import { RETRY } from "../root/messages.ts";
import { describeStatus, serverUrl } from "../server-url.ts";

export interface AdminOptions {
  /** For example `http://localhost:9070`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Aborted when the client closes: nothing is asked again then. */
  readonly closed?: AbortSignal | undefined;
}

interface Invocation {
  readonly id: string;
  readonly status: string;
  readonly key: string;
  readonly deployment: string | null;
}

/**
 * How often `continueRun` looks. A killed worker is noticed within milliseconds; one behind a broken connection is not, and is not waited
 * for any longer.
 */
const MOVE_ROUNDS = 40;
/** How often `resumePaused` looks: after 50, 150, 350 milliseconds and so on, for about six seconds. */
const RESUME_ROUNDS = 7;
/**
 * How often a query is sent, over about ten seconds. After its start, and while a cluster moves partitions, the server answers queries with
 * status 500.
 */
const QUERY_TRIES = 14;
const AT_REST: ReadonlySet<string> = new Set(["backing-off", "paused", "suspended"]);
const ALL = [ROOT, EXECUTION, WATCHER, TOPIC] as const;
const MOVE = "resume?deployment=latest";

/** The server's admin API: which invocations exist, and on which deployment. */
export class Admin {
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly closed: AbortSignal;

  constructor({ url, headers = {}, closed = new AbortController().signal }: AdminOptions) {
    this.url = serverUrl("admin", url, "http://localhost:9070");
    this.headers = headers;
    this.closed = closed;
  }

  /** Registers the address of the workers at the server. From then on new runs go there. */
  async register(uri: string): Promise<void> {
    await this.request("POST", "/deployments", { uri, force: true });
  }

  /** The summaries of all runs. */
  async list(): Promise<RunSummary[]> {
    const rows = await this.query(
      `SELECT value_utf8 FROM state WHERE service_name = '${ROOT}' AND key = '${SUMMARY}'`,
    );
    return rows.map(({ value_utf8 }) => JSON.parse(String(value_utf8)) as RunSummary);
  }

  /** The ids of the completed invocations of a run. */
  async finished(runId: string): Promise<string[]> {
    return (await this.invocations(runId, ALL, "status = 'completed'")).map(({ id }) => id);
  }

  /**
   * Continues everything of a run that is parked or waits for its next retry, on the newest deployment. Invocations that are bound
   * to another deployment are moved. The server moves only what is at rest, so an invocation that is being retried is paused first.
   */
  async continueRun(runId: string, signal: AbortSignal): Promise<void> {
    const latest = await this.latest();
    const isOnOldDeployment = ({ deployment }: Invocation): boolean =>
      deployment !== null && deployment !== latest;
    let hasPaused = false;
    for (let round = 0; round < MOVE_ROUNDS && !signal.aborted; round++) {
      const held = await this.invocations(runId, ALL, "status <> 'completed'");
      hasPaused ||= held.some((one) => isOnOldDeployment(one) && one.status === "backing-off");
      await Promise.all(
        held.map(async (one) => {
          if (isOnOldDeployment(one)) await this.move(one);
          else if (round === 0 && AT_REST.has(one.status)) await this.patch(one.id, "resume");
        }),
      );
      if (!held.some(isOnOldDeployment)) break;
      await pause(Math.min(500, 25 * (round + 1)), signal);
    }
    if (hasPaused) void this.resumePaused(runId, signal).catch(() => {});
  }

  /**
   * Resumes what is still paused after a move. Another client may have moved an invocation before this one paused it, and a pause
   * may take effect late: then the invocation would stay paused on the right deployment.
   */
  private async resumePaused(runId: string, signal: AbortSignal): Promise<void> {
    for (let round = 0; round < RESUME_ROUNDS && !signal.aborted; round++) {
      await pause(50 * 2 ** round, signal, { unref: true });
      if (signal.aborted) return;
      const held = await this.invocations(runId, ALL, "status = 'paused'");
      await Promise.all(held.map((one) => this.patch(one.id, MOVE)));
    }
  }

  /**
   * If a message to a tree's object is bound to a deployment that does not answer, it blocks all other messages. It is moved to the
   * newest deployment; nothing else of the run is touched.
   */
  async unblock(runId: string): Promise<void> {
    const held = await this.invocations(runId, [ROOT, TOPIC], "status IN ('backing-off', 'paused')");
    await Promise.all(held.map((one) => this.move(one)));
  }

  /** Kills executions that cannot be told to stop, because no worker can run them. Their watchers report the end to the root. */
  async kill(execIds: readonly string[]): Promise<void> {
    for (const execId of execIds) {
      const held = await this.invocations(execId, [EXECUTION], "status <> 'completed'");
      const own = held.filter(({ key }) => key === execId || key.startsWith(`${execId}${RETRY}`));
      await Promise.all(own.map(({ id }) => this.patch(id, "kill")));
    }
  }

  /** Removes a completed invocation from the server. */
  async purge(invocation: string): Promise<void> {
    await this.patch(invocation, "purge");
  }

  private async move({ id, status }: Invocation): Promise<void> {
    if (status === "backing-off") await this.patch(id, "pause");
    if (AT_REST.has(status)) await this.patch(id, MOVE);
  }

  private async invocations(
    runId: string,
    services: readonly string[],
    where: string,
  ): Promise<Invocation[]> {
    const names = services.map((name) => `'${name}'`).join(", ");
    const key = runId.replaceAll("'", "''");
    const rows = await this.query(
      `SELECT id, status, target_service_key, pinned_deployment_id FROM sys_invocation WHERE target_service_name IN (${names}) ` +
        `AND (target_service_key = '${key}' OR starts_with(target_service_key, '${key}/hire:') ` +
        `OR starts_with(target_service_key, '${key}${RETRY}')) AND ${where}`,
    );
    return rows.map(({ id, status, target_service_key, pinned_deployment_id: deployment }) => ({
      id: String(id),
      status: String(status),
      key: String(target_service_key),
      deployment: typeof deployment === "string" ? deployment : null,
    }));
  }

  private async latest(): Promise<string | null> {
    const rows = await this.query(`SELECT deployment_id FROM sys_service WHERE name = '${EXECUTION}'`);
    const deployment = rows[0]?.["deployment_id"];
    return typeof deployment === "string" ? deployment : null;
  }

  /** The server refuses this if the invocation is running or gone. That is no error: the caller looks again. */
  private async patch(invocation: string, what: string): Promise<void> {
    await this.request("PATCH", `/invocations/${invocation}/${what}`, undefined, [400, 404, 409]);
  }

  private async query(query: string): Promise<Record<string, unknown>[]> {
    for (let tries = 1; ; tries++) {
      const answer = await this.send("POST", "/query", { query });
      if (answer.ok) return (JSON.parse(await answer.text()) as { rows: Record<string, unknown>[] }).rows;
      const isLast = answer.status < 500 || tries === QUERY_TRIES || this.closed.aborted;
      if (isLast) throw await refusal("POST /query", answer);
      await answer.text();
      await pause(retryDelay(tries - 1), this.closed);
    }
  }

  private async request(
    method: string,
    path: string,
    body?: object,
    tolerated: readonly number[] = [],
  ): Promise<void> {
    const answer = await this.send(method, path, body);
    if (!answer.ok && !tolerated.includes(answer.status)) throw await refusal(nameOf(method, path), answer);
    await answer.text();
  }

  private async send(method: string, path: string, body?: object): Promise<Response> {
    const headers = { ...this.headers, accept: "application/json", "content-type": "application/json" };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    try {
      return await fetch(`${this.url}${path}`, { ...init, redirect: "manual" });
    } catch (cause) {
      const message = `${nameOf(method, path)}: cannot reach the Restate admin API at ${this.url}: ${messageOf(cause)}`;
      throw new ToolError({ toolName: "restate", message, retryable: true, cause });
    }
  }
}

function nameOf(method: string, path: string): string {
  return `${method} ${path.split("?")[0] ?? ""}`;
}

async function refusal(what: string, answer: Response): Promise<ToolError> {
  const { status } = answer;
  const message = `${what}: the Restate admin API ${describeStatus(status, await answer.text())}`;
  return new ToolError({ toolName: "restate", message, retryable: status >= 500 });
}
