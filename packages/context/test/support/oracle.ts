import type { ChatMessage, CompactionStrategy } from "@ravi/kernel";

/** What a provider would refuse in a prompt, in words; written apart from the code under test. */
export function problemsOf(prompt: readonly ChatMessage[]): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  let waiting = new Set<string>();
  let talked = false;
  prompt.forEach((message, at) => {
    if (message.role === "tool") {
      if (!waiting.delete(message.toolCallId)) problems.push(`${at}: a result without its call`);
      return;
    }
    if (waiting.size > 0) problems.push(`${at}: calls before it have no result`);
    waiting = new Set();
    if (message.role === "assistant") {
      for (const { id } of message.toolCalls ?? []) {
        if (ids.has(id)) problems.push(`${at}: the id ${id} is used twice`);
        ids.add(id);
        waiting.add(id);
      }
    }
    if (!talked && message.role === "assistant" && waiting.size > 0)
      problems.push(`${at}: begins with calls`);
    if (message.role !== "system") talked = true;
  });
  if (waiting.size > 0) problems.push("the last calls have no result");
  return problems;
}

/** Whether `part` is `whole` with some messages left out; `same` says when two stand for each other. */
export function keepsOrder(
  part: readonly ChatMessage[],
  whole: readonly ChatMessage[],
  same: (made: ChatMessage, given: ChatMessage) => boolean = (made, given) => made === given,
): boolean {
  let at = 0;
  for (const message of part) {
    while (at < whole.length && !same(message, whole[at] as ChatMessage)) at++;
    if (at++ >= whole.length) return false;
  }
  return true;
}

/** What is planted to see that the oracle bites: it cuts wherever the number says. */
export const naiveSlice = (count: number): CompactionStrategy => ({
  compact: (messages) => [...messages.filter((m) => m.role === "system"), ...messages.slice(-count)],
});
