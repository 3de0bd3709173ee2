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

it("the names of its errors are texts of their own, which a minifier leaves alone", () => {
  const { SessionBusyError, SessionCorruptError, SessionLockedError } = session;
  for (const made of [SessionBusyError, SessionCorruptError, SessionLockedError]) {
    // What a class is called by default cannot be written to.
    expect(Object.getOwnPropertyDescriptor(made, "name")?.writable).toBe(true);
  }
  const locked = { sessionId: "s", owner: "o" };
  expect(new SessionLockedError(locked).name).toBe("SessionLockedError");
  expect(new SessionBusyError({ operation: "o", phase: "p" }).name).toBe("SessionBusyError");
  const damaged = { sessionId: "s", line: 1, position: 0, problem: "p" };
  expect(new SessionCorruptError(damaged).name).toBe("SessionCorruptError");
  class Mine extends SessionLockedError {}
  expect(new Mine(locked).name).toBe("Mine");
});
