import { deflateSync, inflateSync } from "node:zlib";
import type { Serde } from "@restatedev/restate-sdk";
import type { RootState } from "./state.ts";

/** Smaller states are kept as they are: anybody can read them with the server's own tools. */
const LARGE = 4_096;
const BRACE = "{".charCodeAt(0);

/**
 * How a tree's state is kept. Every message reads all of it and writes all of it, and the server logs both; the state of a large
 * tree says the same few words again and again, and packed it is a tenth. What was written unpacked is read as it is.
 */
export const STORED: Serde<RootState> = {
  contentType: "application/json",
  serialize(state) {
    const bytes = new TextEncoder().encode(JSON.stringify(state));
    return bytes.length < LARGE ? bytes : deflateSync(bytes, { level: 1 });
  },
  deserialize(bytes) {
    const plain = bytes[0] === BRACE ? bytes : inflateSync(bytes);
    return JSON.parse(new TextDecoder().decode(plain)) as RootState;
  },
};
