import { expect, test } from "vitest";
import type { RunSummary } from "@ravi/kernel";
import { demo, FROM_SOURCE } from "./run.ts";

test("--page shows the run in a browser, and stays open until Ctrl-C", async () => {
  const shown = Promise.withResolvers<{ readonly page: string; readonly runs: readonly RunSummary[] }>();
  let url = "";
  const look = async (): Promise<void> => {
    const [address, key] = url.split("#key=");
    const page = await fetch(new URL("/", address));
    const list = await fetch(new URL("/api/runs", address), { headers: { authorization: `Bearer ${key}` } });
    const { runs } = (await list.json()) as { readonly runs: readonly RunSummary[] };
    shown.resolve({ page: await page.text(), runs });
  };
  const ended = demo(["--page"], {
    program: FROM_SOURCE,
    onLine: (line, kill) => {
      if (line.startsWith("page: ")) url = line.slice("page: ".length);
      if (line.includes("The page stays open"))
        void look().then(
          () => kill("SIGINT"),
          (error: unknown) => {
            shown.reject(error);
            kill("SIGKILL");
          },
        );
    },
  });
  const { page, runs } = await shown.promise;
  expect(page).toContain("<title>Runs</title>");
  expect(runs).toMatchObject([{ status: "completed" }]);
  expect(await ended).toMatchObject({ code: 0, signal: null, stderr: "" });
});

test.each([["--json"], ["--engine", "restate"]])("--page with %s is refused", async (...more) => {
  const { code, stderr } = await demo(["--page", ...more]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^demo: --(?:page|engine) is /);
});
