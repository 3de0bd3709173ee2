import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../src/workspace.ts";

// `object.name = () => …` makes the function in the old generation, where it keeps a finished run alive until the next full
// collection (docs/decisions/0012). In what runs with every call a function has a name before it is put into a property. So do the
// getters of a literal, and the methods of a class inside of a function: there are none in packages that work for others than tests.

const HOT =
  "packages/{kernel,runtime,hooks,middleware,resources,supervision,react-agent,orchestrator,sdk,flow,provider-*}/src/**/*.ts";
const ALL = "packages/!(testing)/src/**/*.ts";
/** Once for a journal, once for a resumed run past its deadline. */
const ONCE: ReadonlySet<string> = new Set(["this.stage =", "recording.onCaughtUp ="]);
/** Once for the connection to a server, and a getter that keeps only the session, which is there longer. */
const HARMLESS: ReadonlySet<string> = new Set([
  "packages/tools-mcp/src/tools/mcp-tools.ts: get manifest",
  "packages/tools-mcp/src/tools/mcp-tools.ts: get changes",
  "packages/session/src/agent/session-agent.ts: get onEvent",
]);

const ASSIGNED =
  /^\s*([\w.#?]+\.[\w#]+ (?:\?\?)?=)\s+(?:async )?(?:function\b|\([^()]*\)(?:: [^=;]+)? =>|\w+ =>)/gm;

/** Members of a class at the top of a file are indented by two. */
const INSIDE = /^ {4,}((?:get|set) \w+(?=\()|class \w+)|(?:\breturn|=|\() ?(class)\b/gm;

function inside(source: string): string[] {
  return [...source.matchAll(INSIDE)].map(([, member, expression]) => member ?? expression ?? "");
}

function assigned(source: string): string[] {
  return [...source.matchAll(ASSIGNED)]
    .map(([, target = ""]) => target)
    .filter((target) => !ONCE.has(target));
}

describe("functions in properties", () => {
  test("none is written straight into one where calls pass", () => {
    const files = globSync(HOT, { cwd: root });
    expect(files.length).toBeGreaterThan(200);
    const found = files.flatMap((file) =>
      assigned(readFileSync(join(root, file), "utf8")).map((target) => `${file}: ${target}`),
    );
    expect(found).toEqual([]);
  });

  test("no getter and no class is made anew for each call", () => {
    const found = globSync(ALL, { cwd: root }).flatMap((file) =>
      inside(readFileSync(join(root, file), "utf8")).map((what) => `${file}: ${what}`),
    );
    expect(found.filter((each) => !HARMLESS.has(each))).toEqual([]);
    expect(found).toHaveLength(HARMLESS.size);
  });

  test.each([
    ["  return {\n    get status() {", ["get status"]],
    ["    set size(to: number) {", ["set size"]],
    ["  return new (class {", ["class"]],
    ["    class Own extends Base {", ["class Own"]],
    ["export class Own {\n  get status(): string {", []],
    ["    const get = status();\n    get(target, key) {", []],
  ])("%j has %j", (source, found) => {
    expect(inside(source)).toEqual(found);
  });

  test.each([
    "this.cancel = (reason) => run.cancel(reason);",
    "  next.again = (): Promise<void> => {",
    "run.onEnd =\n    () => this.live.delete(handle);",
    "this.make ??= async () => 1;",
    "hiring.onStart = function () {",
    "this.f = x => x;",
  ])("%j is seen", (source) => {
    expect(assigned(source)).toHaveLength(1);
  });

  test.each(["this.cancel = cancel;", "const cancel = () => 1;", "this.list = [() => 1];"])(
    "%j is not",
    (source) => {
      expect(assigned(source)).toEqual([]);
    },
  );
});
