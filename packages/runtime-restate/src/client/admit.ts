import {
  type Agent,
  type AgentRunContext,
  agentName,
  type CancellationToken,
  type ContextPorts,
  type Gate,
  MiddlewareError,
  RunMeta,
  Supervision,
} from "@ravi/kernel";
import { outcomeToJSON } from "../outcome.ts";
import type { Launch } from "../root/messages.ts";

/** The layers look at the input before it is on record anywhere, and so cannot wait for anybody durably. */
const NO_WAITING: Gate = {
  async require(name) {
    const problem = `asked for ${name} before the run is on record; what needs an answer belongs to the function level`;
    throw new MiddlewareError({ layer: "agent", problem });
  },
};

/**
 * The layers around a root agent, the runtime's outside and its own inside, see its input in the process that starts the run:
 * what they remove reaches no server. One that answers for the agent ends the run with its answer.
 */
export async function admitRoot(
  agent: Agent,
  ports: ContextPorts,
  launch: Launch,
  cancellation: CancellationToken,
): Promise<Launch> {
  const layers = [ports.pipelines?.agent, agent.pipelines?.agent].filter(
    (layer) => layer !== undefined && !layer.isNoop,
  );
  if (layers.length === 0) return launch;
  const supervision = Supervision.fromJSON(launch.supervision);
  const { deadline, tenantId } = launch;
  const meta = RunMeta.of({
    supervision,
    cancellation,
    deadline,
    tenantId,
    clock: ports.clock,
    ids: ports.ids,
  });
  const context: AgentRunContext = {
    agentName: agentName(agent.id),
    runId: supervision.runId,
    sessionId: supervision.sessionId,
    meta,
    hooks: ports.hooks,
    clock: ports.clock,
    signal: cancellation.signal,
    input: launch.input,
    result: undefined,
  };
  for (const layer of layers) if (context.result === undefined) await layer?.admit(context, NO_WAITING);
  const { input, result } = context;
  if (result === undefined) return { ...launch, input };
  return { ...launch, input, refused: outcomeToJSON({ status: result.status, result }) };
}
