import type {
  AgentEvent,
  AgentSession,
  Architecture,
  ChatMessage,
  Dependencies,
  MaybePromise,
  RunContext,
} from "@ravi/kernel";
import { toolLoop } from "@ravi/kernel/loop";
import { DelegatingContext } from "../context/delegating-context.ts";
import { adoptConversation } from "../run/strategy-run.ts";
import { loopPlan } from "../run/loop-plan.ts";
import { answerOf } from "../run/answer.ts";
import { interrupt, saidIn } from "../session.ts";
import { NO_WORKERS } from "./shared.ts";

/**
 * Copies every remembered message into the session. The last text of the model is the best answer so far if the time runs out.
 */
class MirrorContext extends DelegatingContext {
  private readonly session: AgentSession;

  constructor(inner: RunContext, session: AgentSession) {
    super(inner);
    this.session = session;
  }

  override remember(message: ChatMessage): MaybePromise<void> {
    this.session.messages.push(message);
    const said = saidIn(message);
    if (said !== "") this.session.output = said;
    return this.inner.remember(message);
  }
}

/** Reason, act, observe, until there is an answer: the kernel's tool loop as an `Architecture`. */
export class ReAct implements Architecture {
  readonly name = "react";

  // The loop emits its events through the context, while it runs.
  // oxlint-disable-next-line require-yield
  async *run(session: AgentSession, deps: Dependencies, prompt: string): AsyncGenerator<AgentEvent, void> {
    await adoptConversation(session, deps);
    const { inbox, runtime } = deps;
    const ctx = new MirrorContext(runtime, session);
    const from = inbox?.input === prompt ? inbox : { input: prompt, attachments: inbox?.attachments };
    const answer = answerOf(await toolLoop(loopPlan(deps, session.instructions), ctx, from));
    session.output = answer.text;
    if (answer.stopReason !== "done") interrupt(session, answer.stopReason);
  }

  declaredWorkers(): typeof NO_WORKERS {
    return NO_WORKERS;
  }
}
