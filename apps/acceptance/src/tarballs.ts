import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sh } from "./shell.ts";
import { readManifest, root } from "./workspace.ts";

// Inside a pnpm script, pnpm is on the path. There, `npx` would wait forever for the lock that the outer `npx` holds.
const isBelowPnpm = process.env["npm_config_user_agent"]?.startsWith("pnpm") === true;
const [pnpm, before] = isBelowPnpm ? ["pnpm", []] : ["npx", ["-y", "pnpm@12"]];

let folder: string | undefined;
const packed = new Map<string, Promise<string>>();
const unpacked = new Map<string, Promise<string>>();

/** To be called after the last test that needs one. At the end of the process would be too late: vitest kills its workers. */
export function removeTarballs(): void {
  packed.clear();
  unpacked.clear();
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
}

/** The tarball that a release of the package would publish. Packed once for all tests of a file. */
export function tarballOf(packageFolder: string): Promise<string> {
  let tarball = packed.get(packageFolder);
  if (tarball === undefined) packed.set(packageFolder, (tarball = pack(packageFolder)));
  return tarball;
}

/** A folder with what is in that tarball. Nobody may change a file in it: unpacked once for all tests of a file. */
export function unpackedFolderOf(packageFolder: string): Promise<string> {
  let content = unpacked.get(packageFolder);
  if (content === undefined) unpacked.set(packageFolder, (content = unpack(packageFolder)));
  return content;
}

async function pack(packageFolder: string): Promise<string> {
  const { name } = readManifest(join(root, packageFolder));
  folder ??= mkdtempSync(join(tmpdir(), "ravi-tarballs-"));
  const tarball = join(folder, `${name.replaceAll("/", "-")}.tgz`);
  const done = await sh(pnpm, [...before, "pack", "--out", tarball], { cwd: join(root, packageFolder) });
  if (done.code !== 0) throw new Error(`${name} could not be packed\n${done.stdout}${done.stderr}`);
  return tarball;
}

async function unpack(packageFolder: string): Promise<string> {
  const tarball = await tarballOf(packageFolder);
  const target = tarball.replace(/\.tgz$/, "");
  await mkdir(target);
  const { code, stderr } = await sh("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  if (code !== 0) throw new Error(`${tarball} could not be unpacked: ${stderr}`);
  return target;
}
