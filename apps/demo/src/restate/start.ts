import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type HookPayloads, type Hooks, InvalidValueError } from "@ravi/kernel";
import { createRunContext } from "@ravi/runtime";
import { type RestateRuntime, restateRuntime } from "@ravi/runtime-restate";
import { type Assignment, buildTeam, limits, type Parts, type Started } from "../compose.ts";
import { freePort, startServer } from "./server.ts";

export interface RestateParts extends Pick<Parts, "model" | "hooks" | "limit" | "maxAgents"> {
  readonly folder: string;
  /** Arguments with which a worker uses the same model. */
  readonly modelArgs: readonly string[];
}

const WORKERS = 2;

/** Runs the same team on a Restate server on this machine: two worker processes, with this process as a client that watches. */
export async function startOnRestate(parts: RestateParts, assignment: Assignment): Promise<Started> {
  const { folder, modelArgs, model, hooks, limit, maxAgents } = parts;
  const server = await startServer(join(folder, "restate"));
  const { ingress, admin } = server;
  const client = restateRuntime({ ingress, admin, createContext: createRunContext });
  const workers: ChildProcess[] = [];
  let ending: Promise<void> | undefined;
  const suspend = (): Promise<void> => (ending ??= end());
  async function end(): Promise<void> {
    await client.close();
    for (const worker of workers) worker.kill("SIGKILL");
    await server.stop();
  }
  try {
    const port = await freePort();
    const args = [`--ingress=${ingress}`, `--admin=${admin}`, `--port=${port}`, ...modelArgs];
    for (let n = 0; n < WORKERS; n++) workers.push(startWorker(args, hooks));
    await Promise.all(workers.map(isReady));
    await client.deploy(`http://127.0.0.1:${port}`);
    const handle =
      "resume" in assignment
        ? client.resume(await newest(client))
        : client.run(buildTeam(model).lead, assignment.question, limits({ limit, maxAgents }));
    return { events: () => handle.events(), result: handle.result, suspend };
  } catch (error) {
    await suspend();
    throw error;
  }
}

type Said =
  | { readonly event: "ready" }
  | { readonly event: "preempted"; readonly payload: HookPayloads["preempted"] }
  | { readonly event: "resumed"; readonly payload: HookPayloads["resumed"] };

function startWorker(args: readonly string[], hooks: Hooks): ChildProcess {
  const worker = fork(join(import.meta.dirname, "worker.ts"), args, {
    execArgv: ["--conditions=@ravi/source", "--no-warnings"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  worker.on("message", (said: Said) => {
    if (said.event !== "ready") void hooks.dispatch(said.event, said.payload);
  });
  return worker;
}

async function isReady(worker: ChildProcess): Promise<void> {
  await Promise.race([once(worker, "message"), once(worker, "exit")]);
  if (worker.exitCode !== null)
    throw new Error(`a worker exited with code ${worker.exitCode} before it was ready`);
}

async function newest(client: RestateRuntime): Promise<string> {
  const runs = await client.list();
  const run = runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];
  if (run !== undefined) return run.runId;
  const expected = "a folder that has a run of --engine restate; start without --resume";
  throw new InvalidValueError({ field: "--resume", value: "nothing", expected });
}
