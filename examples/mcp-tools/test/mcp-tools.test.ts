import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the tools of a real MCP server are called, its pictures shown, its errors and wrong arguments told to the model, and a tool that has changed is not called", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("the server has offers_list, offers_look_up, offers_photo, offers_update");
  const told = stdout.split("\n").flatMap((line) => /^the model was told: (.*)/.exec(line)?.[1] ?? []);
  expect(told.map((each): unknown => JSON.parse(each))).toEqual([
    "acme, borealis",
    [{ type: "image", url: expect.stringMatching(/^data:image\/png;base64,iVBOR/), mediaType: "image/png" }],
    '{"usd":4980}',
    "error: no offer of cascade on record",
    expect.stringMatching(/^error: invalid arguments for offers_look_up: .*vendor.*string/),
    "updated",
    expect.stringMatching(/^error: offers_look_up was not called: the server has changed its description/),
  ]);
  expect(stdout).toContain("Acme asks $4980. Cascade has made no offer.");
});
