import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sh } from "./shell.ts";
import { readManifest, root } from "./workspace.ts";

// Inside a pnpm script, pnpm is on the path. There, `npx` would wait forever for the lock that the outer `npx` holds.
const isBelowPnpm = process.env["npm_config_user_agent"]?.startsWith("pnpm") === true;
const [pnpm, before] = isBelowPnpm ? ["pnpm", []] : ["npx", ["-y", "pnpm@12"]];

let packed: { readonly folder: string; readonly done: Promise<void> } | undefined;
const unpacked = new Map<string, Promise<string>>();

/** To be called after the last test that needs one. At the end of the process would be too late: vitest kills its workers. */
export function removeTarballs(): void {
  unpacked.clear();
  if (packed !== undefined) rmSync(packed.folder, { recursive: true });
  packed = undefined;
}

/** The tarball that a release of the package would publish. Packed once for all tests of a file. */
export async function tarballOf(packageFolder: string): Promise<string> {
  const { name, version } = readManifest(join(root, packageFolder));
  const { folder, done } = (packed ??= packAll());
  await done;
  return join(folder, `${name.replace("@", "").replaceAll("/", "-")}-${version}.tgz`);
}

/** A folder with what is in that tarball. Nobody may change a file in it: unpacked once for all tests of a file. */
export function unpackedFolderOf(packageFolder: string): Promise<string> {
  let content = unpacked.get(packageFolder);
  if (content === undefined) unpacked.set(packageFolder, (content = unpack(packageFolder)));
  return content;
}

/** All of them at once: 21 take as long as two that are packed by themselves. */
function packAll(): { readonly folder: string; readonly done: Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "ravi-tarballs-"));
  const pack = [...before, "-r", "--filter", "./packages/*", "pack", "--pack-destination", folder];
  const done = sh(pnpm, pack, { cwd: root }).then(({ code, stdout, stderr }) => {
    if (code !== 0) throw new Error(`the packages could not be packed\n${stdout}${stderr}`);
  });
  return { folder, done };
}

async function unpack(packageFolder: string): Promise<string> {
  const tarball = await tarballOf(packageFolder);
  const target = tarball.replace(/\.tgz$/, "");
  await mkdir(target);
  const { code, stderr } = await sh("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  if (code !== 0) throw new Error(`${tarball} could not be unpacked: ${stderr}`);
  return target;
}
