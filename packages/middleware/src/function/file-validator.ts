import { type MaybePromise, checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";
import { checkPort, hasCode } from "@ravi/kernel/loop";
import type { OnGuardError } from "../guard.ts";
import { checkNames } from "../common/options.ts";
import { isInside, pathProblem, resolvePath } from "../common/path.ts";
import type { FunctionMiddleware } from "../types.ts";
import { realDisk } from "./real-disk.ts";
import { callGuard, type OnViolation } from "./refuse.ts";

export interface FileValidatorOptions {
  /**
   * Absolute paths of folders. A path must be inside of one of them. Relative paths are checked relative to the first, and are passed
   * on as they are: the tool must resolve them there too, and not in the working directory.
   */
  readonly roots: readonly string[];
  /**
   * The names of arguments that are paths, at any depth. Default: path, paths, file, files, filename, filePath, file_path,
   * directory, dir, folder, source, destination.
   */
  readonly fields?: readonly string[] | undefined;
  /** Allowed file extensions (".md"), in upper or lower case. Default: all. */
  readonly extensions?: readonly string[] | undefined;
  /** Larger files are refused. Default: 10,000,000. */
  readonly maxBytes?: number | undefined;
  /** Default: the real file system. */
  readonly disk?: FileDisk | undefined;
  /** Whether the model gets an error result, or the run ends. Default: "result". */
  readonly onViolation?: OnViolation | undefined;
  /** What happens if the check itself fails. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

/** What the layer asks of a file system. Undefined means that the path does not exist. */
export interface FileDisk {
  /** The real path, with symbolic links followed, even if the target does not exist yet. Throws `ELOOP` for a loop of links. */
  realPath(path: string): MaybePromise<string | undefined>;
  /** The size of a file in bytes. */
  sizeOf(path: string): MaybePromise<number | undefined>;
}

const LAYER = "fileValidator";
const FIELDS =
  "path paths file files filename filePath file_path directory dir folder source destination".split(" ");

/**
 * Keeps the files that tools are asked to touch inside of given folders: no `..`, no NUL, no other root, no symbolic link that
 * leads out. It checks before the tool runs; a link that is changed in between has to be prevented by the operating system.
 */
export function fileValidator(options: FileValidatorOptions): FunctionMiddleware {
  checkFields(LAYER, options, [
    "roots",
    "fields",
    "extensions",
    "maxBytes",
    "disk",
    "onViolation",
    "onError",
  ]);
  const roots = checkNames(`${LAYER}.roots`, options.roots).map(checkRoot);
  if (roots.length === 0)
    throw new InvalidValueError({
      field: `${LAYER}.roots`,
      value: options.roots,
      expected: "an array of at least one folder",
    });
  const fields = new Set(checkNames(`${LAYER}.fields`, options.fields ?? FIELDS));
  const extensions =
    options.extensions === undefined
      ? undefined
      : checkNames(`${LAYER}.extensions`, options.extensions).map(checkExtension);
  const maxBytes = checkInteger(`${LAYER}.maxBytes`, options.maxBytes ?? 10_000_000, 1);
  const { disk = realDisk } = options;
  checkPort(`${LAYER}.disk`, disk, ["realPath", "sizeOf"]);

  const check = async (path: string): Promise<string | undefined> => {
    const problem = pathProblem(path);
    if (problem !== undefined) return problem;
    const [home = ""] = roots;
    // On POSIX a backslash is part of a name, and a tool that splits at it would end up elsewhere.
    if (home.startsWith("/") && path.includes("\\")) return "the path contains a backslash";
    const full = resolvePath(home, path);
    if (!roots.some((root) => isInside(root, full))) return "the path is outside of the allowed folders";
    if (extensions !== undefined && !extensions.some((ending) => full.toLowerCase().endsWith(ending))) {
      return `only files with these extensions are allowed: ${extensions.join(", ")}`;
    }
    return diskProblem({ full, roots, maxBytes, disk });
  };
  return callGuard(LAYER, options, async (context) => {
    for (const path of pathsIn(context.arguments, fields)) {
      const problem = await check(path);
      if (problem !== undefined) return problem;
    }
    return undefined;
  });
}

/** The strings under the given names, also in lists. Without recursion, because arguments may be nested deeply. */
function* pathsIn(value: unknown, fields: ReadonlySet<string>): Generator<string> {
  const open: { readonly value: unknown; readonly isPath: boolean }[] = [{ value, isPath: false }];
  const seen = new Set<object>();
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (typeof item.value === "string" && item.isPath) yield item.value;
    if (typeof item.value !== "object" || item.value === null || seen.has(item.value)) continue;
    seen.add(item.value);
    const isList = Array.isArray(item.value);
    for (const [key, inner] of Object.entries(item.value))
      open.push({ value: inner, isPath: isList ? item.isPath : fields.has(key) });
  }
}

interface DiskQuestion {
  readonly full: string;
  readonly roots: readonly string[];
  readonly maxBytes: number;
  readonly disk: FileDisk;
}

async function diskProblem({ full, roots, maxBytes, disk }: DiskQuestion): Promise<string | undefined> {
  const realRoots = await Promise.all(roots.map(async (root) => (await disk.realPath(root)) ?? root));
  try {
    if (!(await isReallyInside(full, roots, realRoots, disk)))
      return "the path leads out of the allowed folders through a symbolic link";
  } catch (error) {
    // Not a failure of the guard: the path itself leads nowhere.
    if (hasCode(error, "ELOOP")) return "the path leads into a loop of symbolic links";
    throw error;
  }
  const size = await disk.sizeOf(full);
  return size !== undefined && size > maxBytes
    ? `the file has ${size} bytes; at most ${maxBytes} are allowed`
    : undefined;
}

/** A file that is to be created does not exist yet. Then the nearest existing folder above it must be inside. */
async function isReallyInside(
  full: string,
  roots: readonly string[],
  realRoots: readonly string[],
  disk: FileDisk,
): Promise<boolean> {
  for (let path = full; ; path = resolvePath(path, "..")) {
    const real = await disk.realPath(path);
    if (real !== undefined) return realRoots.some((root) => isInside(root, real));
    if (roots.includes(path) || path === resolvePath(path, "..")) return true;
  }
}

function checkExtension(extension: string, at: number): string {
  if (extension.startsWith(".")) return extension.toLowerCase();
  const expected = 'an extension with its dot, such as ".md"';
  throw new InvalidValueError({ field: `${LAYER}.extensions[${at}]`, value: extension, expected });
}

function checkRoot(root: string): string {
  if (root.startsWith("/") || /^[A-Za-z]:[\\/]/.test(root)) return resolvePath(root, ".");
  throw new InvalidValueError({ field: `${LAYER}.roots`, value: root, expected: "an absolute path" });
}
