import type * as Crypto from "node:crypto";
import type * as Files from "node:fs";
import type * as Disk from "node:fs/promises";
import type * as Os from "node:os";
import type * as Path from "node:path";
import type * as Zlib from "node:zlib";
import { platformModules } from "@ravi/kernel/loop";

// Only types of Node are imported, because a bundler for browsers would refuse the whole package.

/** The modules of Node that this package uses. */
interface Modules {
  readonly "node:crypto": typeof Crypto;
  readonly "node:fs": typeof Files;
  readonly "node:fs/promises": typeof Disk;
  readonly "node:os": typeof Os;
  readonly "node:path": typeof Path;
  readonly "node:zlib": typeof Zlib;
}

const modules = platformModules<Modules>();

/** A module of Node. Throws an `InvalidValueError` where there is none. */
export const nodeModule = modules.get;
