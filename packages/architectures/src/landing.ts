import type { AgentSession, ChatMessage, Dependencies } from "@ravi/kernel";
import { land, withoutThoughts } from "@ravi/kernel/loop";
import { interrupt, withoutToolCalls } from "./session.ts";

/**
 * Called when the budget is exhausted. An answer that exists already is kept. If there are only parts of one, or nothing, the last turn,
 * paid from the held-back reserve, makes an answer of them.
 */
export async function landSession(session: AgentSession, { runtime, model }: Dependencies): Promise<void> {
  const found = findingsOf(session);
  if (session.output === "" || found !== undefined) {
    const messages: ChatMessage[] = [...withoutToolCalls(session.messages)];
    if (found !== undefined) messages.push({ role: "user", content: `What was found so far:\n\n${found}` });
    const said = session.output === "" ? (found ?? "") : session.output;
    const { output } = await land(runtime, {
      model,
      request: { messages },
      stopReason: "budget",
      said,
      hasWorked: said !== "",
    });
    session.output = withoutThoughts(output);
    delete session.metadata["findings"];
  }
  interrupt(session, "budget");
  if (session.output.trim() === "") return;
  const message: ChatMessage = { role: "assistant", content: session.output };
  session.messages.push(message);
  await runtime.remember(message);
}

/** What a strategy has found so far, as text. */
export function findingsOf({ metadata }: AgentSession): string | undefined {
  const found = metadata["findings"];
  return typeof found === "string" && found.trim() !== "" ? found : undefined;
}
