import { hasCode } from "@ravi/kernel/loop";
import { nodeModule } from "../common/node-module.ts";
import { resolvePath } from "../common/path.ts";
import type { FileDisk } from "./file-validator.ts";

/** As many symbolic links in a row as Linux follows. */
const MAX_LINKS = 40;

/** The file system of this machine. */
export const realDisk: FileDisk = {
  realPath: (path) => resolveLinks(path, { links: 0 }),
  async sizeOf(path) {
    const { stat } = nodeModule("node:fs/promises");
    const found = await stat(path).catch(undefinedIfMissing);
    return found?.isFile() === true ? found.size : undefined;
  },
};

/**
 * The real path, even if nothing exists there yet: writing to a link whose target is missing creates the target. What the system
 * cannot resolve is followed part by part, as the system would.
 */
async function resolveLinks(path: string, followed: { links: number }): Promise<string> {
  const { readlink, realpath } = nodeModule("node:fs/promises");
  const real = await realpath(path).catch(undefinedIfMissing);
  if (real !== undefined) return real;
  const { folder, name } = partsOf(path);
  if (folder === path) return path;
  const parent = await resolveLinks(folder, followed);
  // Only after the links in the folder were followed: `link/..` is the folder above the link's target.
  if (name === "" || name === "." || name === "..") return resolvePath(`${parent}/${name}`, ".");
  const inside = parent === "/" ? `/${name}` : `${parent}/${name}`;
  const target = await readlink(inside).catch(undefinedIfMissing);
  if (target === undefined) return inside;
  if (++followed.links > MAX_LINKS)
    throw Object.assign(new Error("too many symbolic links"), { code: "ELOOP" });
  return resolveLinks(isAbsolute(target, parent) ? target : `${parent}/${target}`, followed);
}

function partsOf(path: string): { readonly folder: string; readonly name: string } {
  const end = Math.max(path.lastIndexOf("/"), isPosix(path) ? -1 : path.lastIndexOf("\\"));
  // The first separator is the root.
  return { folder: path.slice(0, end) || "/", name: path.slice(end + 1) };
}

/** On POSIX a backslash and a colon are part of a name. */
function isPosix(path: string): boolean {
  return path.startsWith("/");
}

function isAbsolute(target: string, parent: string): boolean {
  return isPosix(parent) ? isPosix(target) : /^(?:[\\/]|[A-Za-z]:)/.test(target);
}

/** Nothing exists there, or it is not a link. */
function undefinedIfMissing(error: unknown): undefined {
  if (["ENOENT", "ENOTDIR", "EINVAL"].some((code) => hasCode(error, code))) return undefined;
  throw error;
}
