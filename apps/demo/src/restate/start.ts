import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { InvalidValueError } from "@ravi/kernel";
import { createRunContext } from "@ravi/runtime";
import { type RestateRuntime, restateRuntime } from "@ravi/runtime-restate";
import { type Assignment, buildTeam, limits, type Parts, type Started } from "../compose.ts";
import { freePort, startServer } from "./server.ts";

export interface RestateParts extends Pick<Parts, "model" | "budgetUsd" | "maxAgents"> {
  readonly folder: string;
  /** How a worker finds the same model. */
  readonly modelArgs: readonly string[];
}

const WORKERS = 2;

/** The same team on a Restate server of this machine: two workers as processes, and this one as a client that looks on. */
export async function startOnRestate(parts: RestateParts, assignment: Assignment): Promise<Started> {
  const { folder, modelArgs, model, budgetUsd, maxAgents } = parts;
  const server = await startServer(join(folder, "restate"));
  const { ingress, admin } = server;
  const port = await freePort();
  const args = [`--ingress=${ingress}`, `--admin=${admin}`, `--port=${port}`, ...modelArgs];
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(args)));
  const client = restateRuntime({ ingress, admin, createContext: createRunContext });
  await client.deploy(`http://127.0.0.1:${port}`);
  const handle =
    "resume" in assignment
      ? client.resume(await newest(client))
      : client.run(buildTeam(model).lead, assignment.question, limits({ budgetUsd, maxAgents }));
  let ending: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await client.close();
    for (const worker of workers) worker.kill("SIGKILL");
    await server.stop();
  };
  return {
    events: () => handle.events(),
    result: handle.result,
    suspend: () => (ending ??= end()),
  };
}

async function startWorker(args: readonly string[]): Promise<ChildProcess> {
  const flags = ["--conditions=@ravi/source", "--no-warnings"];
  const worker = fork(join(import.meta.dirname, "worker.ts"), args, {
    execArgv: flags,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await Promise.race([once(worker, "message"), once(worker, "exit")]);
  return worker;
}

async function newest(client: RestateRuntime): Promise<string> {
  const runs = await client.list();
  const run = runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];
  if (run !== undefined) return run.runId;
  const expected = "a folder with a run of --engine restate in it; start without --resume";
  throw new InvalidValueError({ field: "--resume", value: "nothing", expected });
}
