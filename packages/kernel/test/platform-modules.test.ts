import type * as Path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { isRaviError } from "../src/index.ts";
import { platformModules } from "../src/loop.ts";

interface Modules {
  readonly "node:path": typeof Path;
  readonly "node:nothing": object;
}
const { get, ifAny } = platformModules<Modules>();

const sandbox = {
  env: {},
  getBuiltinModule() {
    throw new Error("not supported in the Edge Runtime");
  },
};

afterEach(() => void vi.unstubAllGlobals());

test("a module of Node comes from the process, when it is asked for", () => {
  expect(get("node:path").join("a", "b")).toMatch(/^a.b$/);
  expect(ifAny("node:path")).toBe(get("node:path"));
});

test.each([
  ["a module that Node does not have", process, "node:nothing", process.version],
  ["a page, which has no process", undefined, "node:path", undefined],
  ["a bundle, whose process has only an environment", { env: {} }, "node:path", undefined],
  ["an edge sandbox, whose process has functions that throw", sandbox, "node:path", undefined],
] as const)(
  "where there is none it is undefined, or an error that says what is missing: %s",
  (_, host, id, version) => {
    vi.stubGlobal("process", host);
    const none = ifAny(id);
    let refused: unknown;
    try {
      get(id);
    } catch (error) {
      refused = error;
    }
    vi.unstubAllGlobals();
    expect(none).toBeUndefined();
    expect(isRaviError(refused, "INVALID_VALUE") && refused.message).toContain(id);
    expect(String(refused)).toContain(
      `process.version is ${version === undefined ? "undefined" : `"${version}"`}`,
    );
  },
);
