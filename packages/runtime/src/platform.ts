import type * as Crypto from "node:crypto";
import type * as Files from "node:fs";
import type * as Zlib from "node:zlib";

// Modules of Node that a runtime without options never needs. They are loaded on first use: at import time they took 17 of its 40
// ms.

let crypto: typeof Crypto | undefined;
let files: typeof Files | undefined;
let zlib: typeof Zlib | undefined;

export function nodeCrypto(): typeof Crypto {
  return (crypto ??= process.getBuiltinModule("node:crypto"));
}

export function nodeFiles(): typeof Files {
  return (files ??= process.getBuiltinModule("node:fs"));
}

export function nodeZlib(): typeof Zlib {
  return (zlib ??= process.getBuiltinModule("node:zlib"));
}
