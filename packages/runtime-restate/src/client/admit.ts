import { type Agent, type CancellationToken, type ContextPorts, RunMeta, Supervision } from "@ravi/kernel";
import { admitRun, bothHooks, guardedHooks } from "@ravi/kernel/loop";
import { outcomeToJSON } from "../outcome.ts";
import type { Launch } from "../root/messages.ts";
import { scopeOfRun } from "../scope.ts";

/**
 * Runs the admission of the layers around a root agent, the runtime's outside and the agent's own inside, in the process that
 * starts the run: what they remove from the input never reaches the server. If a layer answers for the agent, the run ends with
 * that answer, and what came with the input does not reach the server either.
 */
export async function admitRoot(
  agent: Agent,
  ports: ContextPorts,
  launch: Launch,
  cancellation: CancellationToken,
): Promise<Launch> {
  const layers = [ports.pipelines?.agent, agent.pipelines?.agent].flatMap((layer) =>
    layer === undefined || layer.isNoop || layer.hasAdmits === false ? [] : [layer],
  );
  if (layers.length === 0) return launch;
  const whom = Supervision.fromJSON(launch.supervision);
  const { deadline, tenantId, attachments } = launch;
  const { clock, ids } = ports;
  const meta = RunMeta.of({ supervision: whom, cancellation, deadline, tenantId, clock, ids });
  const hooks = bothHooks(ports.hooks, agent.hooks && guardedHooks(agent.hooks, ports.logger));
  const scope = scopeOfRun(launch, whom);
  const asked = { layers, whom, input: launch.input, attachments, meta, scope, hooks, clock };
  const { input, refused } = await admitRun(asked);
  if (refused === undefined) return { ...launch, input };
  const result = outcomeToJSON({ status: refused.status, result: refused });
  return { ...launch, input, attachments: undefined, refused: result };
}
