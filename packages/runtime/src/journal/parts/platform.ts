import type * as AsyncHooks from "node:async_hooks";
import type * as Crypto from "node:crypto";
import type * as Files from "node:fs";
import type * as Os from "node:os";
import type * as Path from "node:path";
import type * as Sqlite from "node:sqlite";
import type * as Timers from "node:timers";
import type * as Urls from "node:url";
import type * as Zlib from "node:zlib";
import { platformModules } from "@ravi/kernel/loop";
import { sha256 } from "./sha256.ts";

// Only types of Node are imported, because a bundler for browsers would refuse all of the runtime. Its modules are taken from the process
// when they are first needed, which is faster too: at import time they took 17 of 40 ms.

/** The modules of Node that the runtime uses. */
interface Modules {
  readonly "node:async_hooks": typeof AsyncHooks;
  readonly "node:crypto": typeof Crypto;
  readonly "node:fs": typeof Files;
  readonly "node:os": typeof Os;
  readonly "node:path": typeof Path;
  readonly "node:sqlite": typeof Sqlite;
  readonly "node:timers": typeof Timers;
  readonly "node:url": typeof Urls;
  readonly "node:zlib": typeof Zlib;
}

const modules = platformModules<Modules>();

/** A module of Node; undefined where there is none. */
export const moduleIfAny = modules.ifAny;

/** A module of Node. Throws an `InvalidValueError` where there is none. */
export const nodeModule = modules.get;

/** What a browser does not have. */
interface Host {
  readonly Buffer?: { byteLength(text: string): number } | undefined;
}

const host: Host = globalThis;

let crypto: Modules["node:crypto"] | undefined;
let files: Modules["node:fs"] | undefined;
let zlib: Modules["node:zlib"] | undefined;

export function nodeFiles(): Modules["node:fs"] {
  return (files ??= nodeModule("node:fs"));
}

export function nodeZlib(): Modules["node:zlib"] {
  return (zlib ??= nodeModule("node:zlib"));
}

/** The SHA-256 of bytes, or of a text as UTF-8, in hex. Without Node it is computed here, with the same result. */
export function hashOf(data: string | Uint8Array): string {
  crypto ??= moduleIfAny("node:crypto");
  return crypto === undefined ? sha256(data) : crypto.hash("sha256", data);
}

/** How many bytes a text has as UTF-8. */
export function byteLength(text: string): number {
  return host.Buffer === undefined ? new TextEncoder().encode(text).length : host.Buffer.byteLength(text);
}

// Taken now, because the fake timers of a test runner may replace them later.
const later = setTimeout;

/** Milliseconds that really have passed since some time, whatever the clock of a run says. */
export const realNow = performance.now.bind(performance);

/** Calls back in the next turn of the event loop. The `setImmediate` of an edge runtime may throw, so only Node's is used. */
export const nextTurn: (callback: () => void) => unknown = moduleIfAny("node:timers")?.setImmediate ?? later;

/** Resolves after a time that really has passed, whatever the clock of a run says. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void later(resolve, milliseconds));
}
