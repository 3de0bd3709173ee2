import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the tools of a real MCP server are called, and its errors and wrong arguments are told to the model", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("the server has offers_list and offers_look_up");
  expect(stdout).toContain("the model was told: acme, borealis");
  expect(stdout).toContain('the model was told: {"usd":4980}');
  expect(stdout).toContain("no offer of cascade on record");
  expect(stdout).toMatch(/the model was told: .*vendor.*string/);
  expect(stdout).toContain("Acme asks $4980. Cascade has made no offer.");
});
