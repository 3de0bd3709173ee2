// Records three calls, whole or streamed, in a process whose files may not grow far, and prints how each went. The second has no room.
import { isRaviError, type ModelRequest } from "@ravi/kernel";
import { record, scriptedModel } from "@ravi/testing";

const [file = "", how = ""] = process.argv.slice(2);
const model = record(
  scriptedModel(({ messages }) => (messages[0]?.content === "large" ? "x".repeat(100_000) : "fine")),
  file,
);
async function make(request: ModelRequest): Promise<string> {
  try {
    if (how === "whole") await model.generate(request);
    else for await (const event of model.stream?.(request) ?? []) if (event.type === "finish") break;
    return "recorded";
  } catch (error) {
    return isRaviError(error) ? error.message : String(error);
  }
}
for (const content of ["first", "large", "last"])
  process.stdout.write(`${await make({ messages: [{ role: "user", content }] })}\n`);
