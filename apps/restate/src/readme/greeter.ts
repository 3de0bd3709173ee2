import { type Agent, AgentId } from "@ravi/kernel";

/** Any agent will do: a `ReActAgent`, an orchestrator with its helpers, a flow, or an object like this one. */
export const greeter: Agent = {
  id: AgentId("greeter"),
  version: "1",
  async run(ctx, inbox) {
    const name = await ctx.waitFor("name"); // may take days; meanwhile the server keeps the run, not a process
    if (typeof name !== "string") throw new TypeError("a name is a text");
    return { status: "completed", output: `${inbox.input}, ${name}`, stopReason: "done" };
  },
};
