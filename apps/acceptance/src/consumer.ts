import { existsSync, linkSync, mkdirSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Finished, sh } from "./shell.ts";
import { unpackedFolderOf } from "./tarballs.ts";
import { readManifest, root } from "./workspace.ts";

const tsc = join(root, "node_modules/.bin/tsc");

/** An empty project outside the repository, like that of a user who installs the packages. Removed when it is disposed. */
export interface Consumer extends AsyncDisposable {
  readonly folder: string;
  /** Writes a new file, also in place of an installed one. */
  write(file: string, content: string): Promise<void>;
  /**
   * Packs a package as a release would, and puts its files where `npm install` would put them. Returns that folder. The files are
   * links to those of all consumers, since to unpack them again takes nine times as long: only `write` may replace one.
   */
  install(packageFolder: string, into?: string): Promise<string>;
  compile(compilerOptions: Readonly<Record<string, unknown>>, files: readonly string[]): Promise<Finished>;
  run(file: string): Promise<Finished>;
}

/** Creates the folder, with a `package.json` and nothing else. */
export async function emptyConsumer(): Promise<Consumer> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "ravi-consumer-")));
  const consumer: Consumer = {
    folder,
    async write(file, content) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await rm(join(folder, file), { force: true });
      await writeFile(join(folder, file), content);
    },
    async install(packageFolder, into = "") {
      const { name } = readManifest(join(root, packageFolder));
      const target = join(folder, into, "node_modules", name);
      // Two packages may need the same one.
      if (!existsSync(target)) linkFiles(await unpackedFolderOf(packageFolder), target);
      return target;
    },
    async compile(compilerOptions, files) {
      await consumer.write(
        "tsconfig.json",
        JSON.stringify({
          compilerOptions: { noEmit: true, strict: true, skipLibCheck: false, types: [], ...compilerOptions },
          files,
        }),
      );
      // One checker, as in tsconfig.base.json.
      return sh(tsc, ["-p", folder, "--pretty", "false", "--checkers", "1"]);
    },
    run: (file) => sh(process.execPath, [join(folder, file)], { cwd: folder }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  await consumer.write("package.json", JSON.stringify({ name: "consumer", private: true, type: "module" }));
  return consumer;
}

/**
 * Gives a consumer a package's dependencies other than the kernel: `@ravi/*` packed, others linked from the workspace's install.
 */
export async function linkDependencies(
  consumer: Consumer,
  packageFolder: string,
  { peers = true }: { readonly peers?: boolean | undefined } = {},
): Promise<void> {
  const { dependencies = {}, peerDependencies = {} } = readManifest(join(root, packageFolder));
  const require = createRequire(join(root, packageFolder, "package.json"));
  for (const name of Object.keys({ ...dependencies, ...(peers && peerDependencies) })) {
    if (name === "@ravi/kernel") continue;
    if (name.startsWith("@ravi/")) {
      const folder = `packages/${name.slice("@ravi/".length)}`;
      await consumer.install(folder);
      await linkDependencies(consumer, folder, { peers });
      continue;
    }
    const target = join(consumer.folder, "node_modules", name);
    await mkdir(dirname(target), { recursive: true });
    const found = (require.resolve.paths(name) ?? []).map((path) => join(path, name));
    // Two packages may need the same dependency.
    if (!existsSync(target)) await symlink(await firstThatExists(found), target);
  }
}

/**
 * Installs packages in pnpm's layout: each package sees only its own dependencies, and the consumer sees only these packages. Peer
 * dependencies are left out.
 */
export async function installAlone(consumer: Consumer, ...packageFolders: readonly string[]): Promise<void> {
  const placed = new Map<string, string>();
  const place = async (folder: string): Promise<string> => {
    const { name, dependencies = {} } = readManifest(join(root, folder));
    const known = placed.get(name);
    if (known !== undefined) return known;
    const own = join("store", name.replace("/", "+"));
    const target = await consumer.install(folder, own);
    placed.set(name, target);
    const require = createRequire(join(root, folder, "package.json"));
    for (const needed of Object.keys(dependencies)) {
      const found = needed.startsWith("@ravi/")
        ? await place(`packages/${needed.slice("@ravi/".length)}`)
        : await firstThatExists((require.resolve.paths(needed) ?? []).map((path) => join(path, needed)));
      await link(found, join(consumer.folder, own, "node_modules", needed));
    }
    return target;
  };
  for (const packageFolder of packageFolders) {
    const { name } = readManifest(join(root, packageFolder));
    await link(await place(packageFolder), join(consumer.folder, "node_modules", name));
  }
}

/** The same files under another path. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkFiles(source, target);
    else linkSync(source, target);
  }
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

async function firstThatExists(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      return await realpath(path);
    } catch {
      // Try the next folder up, as Node does.
    }
  }
  throw new Error(`none of ${paths.join(", ")} exists`);
}
