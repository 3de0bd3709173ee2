import { AgentId, type PermissionDecision, type PermissionRequest } from "@ravi/kernel";
import { bareContext, denialBy } from "@ravi/kernel/loop";
import { expect, test } from "vitest";

const HIRE: PermissionRequest = {
  agentId: AgentId("lead"),
  action: "hire",
  target: "helper",
  version: "2",
  scope: bareContext().scope,
};
const ask = async (check: () => unknown, request = HIRE): Promise<unknown> =>
  denialBy({ isNoop: false, check: () => check() as PermissionDecision }, request, (denial) => denial);
const down = (): never => {
  throw new Error("down");
};

test("J11: what is permitted has no denial", async () => {
  expect(await ask(() => ({ allow: true }))).toBeUndefined();
  expect(await ask(async () => ({ allow: true }))).toBeUndefined();
});

test("J11: a denial names the target with its version, if it has one, and the reason", async () => {
  const no = { allow: false, reason: "alone" };
  expect(await ask(() => no)).toEqual({
    target: "helper@2",
    reason: "alone",
    message: "helper@2 is not permitted: alone",
  });
  expect(await ask(() => no, { ...HIRE, version: undefined })).toMatchObject({ target: "helper" });
});

test.each<[string, () => unknown, string]>([
  ["throws", down, "the policy failed (down)"],
  ["rejects", async () => down(), "the policy failed (down)"],
  [
    "answers nothing",
    () => undefined,
    "the policy failed (it answered undefined; expected { allow: true } or { allow: false, reason })",
  ],
  ["resolves with nothing", async () => undefined, "the policy failed (it answered undefined; expected"],
  ["says only yes", () => true, "the policy failed (it answered true; expected"],
  [
    "answers with an object that throws",
    async () => ({
      get allow() {
        return down();
      },
    }),
    "the policy failed (down)",
  ],
  [
    "says yes in other words",
    () => ({ allow: "yes" }),
    'the policy failed (it answered allow: "yes"; expected true or false)',
  ],
  ["gives no reason", () => ({ allow: false, reason: undefined }), "no reason was given"],
])("J11: a policy that %s denies", async (_, check, reason) => {
  expect(await ask(check)).toMatchObject({ reason: expect.stringContaining(reason) });
});

test("J11: a policy that answers with a thenable of its own, whose `then` returns nothing, still denies", async () => {
  const check = () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- that is what it is
    then(resolve: (decision: PermissionDecision) => void): void {
      resolve({ allow: false, reason: "alone" });
    },
  });
  expect(await ask(check)).toMatchObject({ reason: "alone" });
});
