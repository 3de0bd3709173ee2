import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { folderOf } from "./peers.ts";

const exec = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>> | undefined;
}

/** The installed versions; undefined if a package is missing or has another version than the manifest asks for. */
export function installedVersions(name: string): Readonly<Record<string, string>> | undefined {
  const folder = folderOf(name);
  const versions: Record<string, string> = {};
  for (const [dependency, wanted] of Object.entries(manifestAt(folder).dependencies ?? {})) {
    const at = join(folder, "node_modules", dependency);
    if (!existsSync(join(at, "package.json"))) return undefined;
    const { version } = manifestAt(at);
    if (version !== wanted) return undefined;
    versions[dependency] = version;
  }
  return versions;
}

/** Installs the versions in a peer's lockfile, outside the workspace, without running install scripts. */
export async function install(name: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const there = installedVersions(name);
  if (there !== undefined) return there;
  const folder = folderOf(name);
  const { command, args } = pnpm();
  const options = ["--dir", folder, "install", "--ignore-workspace", "--ignore-scripts", "--frozen-lockfile"];
  try {
    await exec(command, [...args, ...options], { cwd: folder, signal, maxBuffer: 1 << 26 });
  } catch (error) {
    // A partial install would be detected, but it would get in the way of the next one.
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    throw error;
  }
  const versions = installedVersions(name);
  if (versions === undefined)
    throw new Error(`peers/${name}: the installed versions do not match package.json`);
  return versions;
}

/** The pnpm that runs this script, or the one on the path. */
function pnpm(): { command: string; args: readonly string[] } {
  const running = process.env["npm_execpath"] ?? "";
  if (!running.includes("pnpm")) return { command: "pnpm", args: [] };
  return /\.[cm]?js$/.test(running)
    ? { command: process.execPath, args: [running] }
    : { command: running, args: [] };
}

function manifestAt(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}
