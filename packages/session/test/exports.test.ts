import * as session from "@ravi/session";
import { expect, it } from "vitest";

it("the public surface is this list", () => {
  expect(Object.keys(session).toSorted()).toEqual([
    "FileSessionStore",
    "MemorySessionStore",
    "SessionAgent",
    "SessionBusyError",
    "SessionCorruptError",
    "SessionLockedError",
    "defineExtension",
  ]);
});
