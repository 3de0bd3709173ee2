import type { HireLeaf } from "../agent/leaves.ts";
import { isPromiseLike } from "../core/types.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { Attachment } from "../model/messages.ts";
import type { DelegateTool } from "../model/tool.ts";
import { ownAttachments } from "./attachments.ts";
import { checkAgent } from "./check-agent.ts";

/**
 * The hire that a delegate makes of its arguments, with the attachments of its parent if it inherits them. Throws an `InvalidValueError` if
 * it is none, as a delegate in plain JavaScript may return anything.
 */
export function hireBy<T>(
  tool: DelegateTool<T>,
  args: unknown,
  inherited: readonly Attachment[] | undefined,
): HireLeaf<T> {
  const leaf = tool.hire(args);
  const field = `${tool.name}.hire(args)`;
  if (leaf?.kind !== "hire") {
    const missing = isPromiseLike(leaf) ? " (hire must not be async)" : "";
    const expected = `{ kind: "hire", agent, input }${missing}`;
    throw new InvalidValueError({ field, value: leaf, expected });
  }
  checkAgent(`${field}.agent`, leaf.agent);
  if (typeof leaf.input !== "string")
    throw new InvalidValueError({ field: `${field}.input`, value: leaf.input, expected: "a string" });
  ownAttachments(`${field}.attachments`, leaf.attachments);
  const inherits = tool.attachments === "inherit" && leaf.attachments === undefined;
  return inherits && inherited !== undefined ? { ...leaf, attachments: inherited } : leaf;
}
