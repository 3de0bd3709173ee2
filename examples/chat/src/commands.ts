import { InvalidValueError } from "@ravi/kernel";
import type { SessionAgent } from "@ravi/session";
import { COMMANDS } from "./args.ts";
import { costOf } from "./cost.ts";
import { realModel } from "./models.ts";
import { placesIn, treeOf } from "./tree.ts";

/** Runs a command and returns the text to show; undefined means that the user leaves. */
export async function command(line: string, agent: SessionAgent): Promise<string | undefined> {
  const [name = "", ...rest] = line.trim().split(/\s+/);
  const argument = rest.join(" ");
  switch (name) {
    case "/help":
      return COMMANDS;
    case "/quit":
    case "/exit":
      return undefined;
    case "/tree":
      return treeOf(await agent.open());
    case "/fork":
      return fork(agent, argument);
    case "/cost":
      return costOf(await agent.open(), agent.model);
    case "/new":
      return `new session: ${await agent.newSession()}`;
    case "/model":
      if (argument !== "") await agent.setModel(agent.modelRegistry.get(argument) ?? realModel(argument));
      return `model: ${agent.model.id}`;
    case "/compact": {
      const outcome = await agent.runCompaction();
      return outcome.status === "compacted" ? "done" : `nothing was changed (${outcome.status})`;
    }
    default:
      return `unknown command ${name}; /help lists all commands`;
  }
}

async function fork(agent: SessionAgent, argument: string): Promise<string> {
  const manager = await agent.open();
  const places = placesIn(manager);
  if (argument !== "") {
    const place = /^\d+$/.test(argument) ? places[Number(argument) - 1] : undefined;
    if (place === undefined)
      throw new InvalidValueError({
        field: "/fork",
        value: argument,
        expected: "the number of an entry in /tree",
      });
    await agent.fork(place.id);
    return `continuing from ${argument}; the other branch stays in /tree`;
  }
  const path = manager.path();
  for (let at = path.length - 1; at > 0; at--) {
    const head = path[at];
    const entry = head?.kind === "message" ? await manager.read(head.id) : undefined;
    if (entry?.kind !== "message" || entry.message.role !== "user" || entry.parent === null) continue;
    await agent.fork(entry.parent);
    return "continuing from before the last exchange, which stays in /tree";
  }
  throw new InvalidValueError({
    field: "/fork",
    value: "the first exchange",
    expected: "an exchange with another one before it; use /new to start over",
  });
}
