import { expect, test } from "vitest";
import { waitingEnds } from "../src/root/hires.ts";
import { childLaunch, rootLaunch } from "./fakes.ts";
import { over, StoredTree } from "./tree.ts";

test("R24: an execution that waits for its children is told when the run is deleted, unless they have ended", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const launch = childLaunch(rootLaunch(), "run/hire:a", "a");
  const terms = { agentId: "a", priority: null, budget: null, onFull: "deny" } as const;
  await tree.say("hire", { execId: "run", lane: 1, key: "hire:a", launch, ...terms });
  await tree.say("end", { execId: "run", lane: 2, awakeable: "ended" });
  expect(waitingEnds(tree.state)).toEqual(["ended"]);
  await tree.say("over", over("run/hire:a"));
  expect(waitingEnds(tree.state)).toEqual([]);
});
