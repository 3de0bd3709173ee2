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

/** The versions that are installed; undefined when something is missing or is another version than is asked for. */
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

/** Installs what a peer's lock says, outside the workspace, and runs no script of its packages. */
export async function install(name: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const there = installedVersions(name);
  if (there !== undefined) return there;
  const folder = folderOf(name);
  const { command, args } = pnpm();
  const options = ["--dir", folder, "install", "--ignore-workspace", "--ignore-scripts", "--frozen-lockfile"];
  try {
    await exec(command, [...args, ...options], { cwd: folder, signal, maxBuffer: 1 << 26 });
  } catch (error) {
    // Half an install would be taken for a whole one by nobody, but it would be in the way.
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    throw error;
  }
  const versions = installedVersions(name);
  if (versions === undefined)
    throw new Error(`peers/${name}: the install did not bring what package.json says`);
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
