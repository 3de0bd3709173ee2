import { deflateSync, inflateSync } from "node:zlib";
import type { Serde } from "@restatedev/restate-sdk";
import type { RootState } from "./state.ts";

/** In bytes. Smaller states are stored as plain JSON, which can be read with the server's own tools. */
const LARGE = 4_096;
const BRACE = "{".charCodeAt(0);

/**
 * How a tree's state is stored. Every message reads and writes all of it, and the server logs both. The state of a large tree is
 * repetitive: compressed it has a tenth of the size. A state that was stored as plain JSON can still be read.
 */
export const STATE_SERDE: Serde<RootState> = {
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
