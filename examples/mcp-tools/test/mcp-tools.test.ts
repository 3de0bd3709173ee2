import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the tools of a real MCP server are called, its pictures shown, and its errors and wrong arguments are told to the model", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("the server has offers_list, offers_look_up, offers_photo");
  const told = stdout.split("\n").flatMap((line) => /^the model was told: (.*)/.exec(line)?.[1] ?? []);
  expect(told.map((each): unknown => JSON.parse(each))).toEqual([
    "acme, borealis",
    [{ type: "image", url: expect.stringMatching(/^data:image\/png;base64,iVBOR/), mediaType: "image/png" }],
    '{"usd":4980}',
    "error: no offer of cascade on record",
    expect.stringMatching(/^error: invalid arguments for offers_look_up: .*vendor.*string/),
  ]);
  expect(stdout).toContain("Acme asks $4980. Cascade has made no offer.");
});
