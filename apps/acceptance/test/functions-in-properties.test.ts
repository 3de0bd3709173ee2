import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../src/workspace.ts";

// `object.name = () => …` makes the function in the old generation, where it keeps a finished run alive until the next full
// collection (docs/decisions/0012). In what runs with every call a function has a name before it is put into a property.

const HOT =
  "packages/{kernel,runtime,hooks,middleware,resources,supervision,react-agent,orchestrator}/src/**/*.ts";
/** Once for a journal, once for a resumed run past its deadline. */
const ONCE: ReadonlySet<string> = new Set(["this.stage =", "recording.onCaughtUp ="]);

const ASSIGNED =
  /^\s*([\w.#?]+\.[\w#]+ (?:\?\?)?=)\s+(?:async )?(?:function\b|\([^()]*\)(?:: [^=;]+)? =>|\w+ =>)/gm;

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
