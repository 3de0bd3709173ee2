import { appendFileSync } from "node:fs";
import { type Agent, AgentId, defineTool, type LLMClient, textOf, type Tool } from "@ravi/kernel";
import { toolSpec, toolTurn } from "@ravi/kernel/loop";
import * as z from "zod";

// The reference run: a lead, three researchers with a few turns and a tool, and an editor whose tool must not be repeated and
// needs approval. That tool writes to a file outside of the journal, so that a test can count its calls.

function loop(name: string, model: LLMClient, instructions: string, tools: readonly Tool[]): Agent {
  const specs = tools.map(toolSpec);
  return {
    id: AgentId(name),
    async run(ctx, inbox) {
      await ctx.remember({ role: "user", content: inbox.input });
      for (;;) {
        const response = await ctx.llm(model, {
          messages: await ctx.window({ system: instructions, tools: specs }),
          tools: specs,
        });
        await ctx.remember(response.message);
        if (response.message.toolCalls === undefined) {
          return { status: "completed", output: textOf(response.message), stopReason: "done" };
        }
        const turn = await toolTurn(ctx, response, tools);
        for (const message of turn.messages) await ctx.remember(message);
        if (turn.stop !== undefined) throw turn.stop;
      }
    },
  };
}

/** Builds the team. `outbox` is the file to which the editor's tool appends. */
export function referenceTeam(
  model: LLMClient,
  outbox: string,
): { readonly lead: Agent; readonly researcher: Agent } {
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks a word up.",
    input: z.object({ word: z.string() }),
    idempotent: true,
    execute: ({ word }) => `${word} has ${word.length} letters`,
  });
  const publish = defineTool({
    name: "publish",
    description: "Publishes a sentence. It cannot be taken back.",
    input: z.object({ text: z.string() }),
    needsApproval: true,
    execute({ text }) {
      appendFileSync(outbox, `${text}\n`);
      return "published";
    },
  });
  const researcher = loop("researcher", model, "You research one word.", [lookUp]);
  const editor = loop("editor", model, "You publish what you are given.", [publish]);
  const lead: Agent = {
    id: AgentId("lead"),
    async run(ctx, inbox) {
      const hires = inbox.input
        .split(" ")
        .map((input) => ({ kind: "hire", agent: researcher, input }) as const);
      const found = (await ctx.batch(hires)).map((outcome) =>
        "result" in outcome ? outcome.result.output : outcome.status,
      );
      const published = await ctx.hire({ agent: editor, input: found.join("; ") });
      const output = "result" in published ? published.result.output : published.status;
      return { status: "completed", output: `${found.join("; ")} [${output}]`, stopReason: "done" };
    },
  };
  return { lead, researcher };
}
