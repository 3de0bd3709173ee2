import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type StandardSchema } from "@ravi/kernel";
import {
  defineExtension,
  type Extension,
  SessionAgent,
  type SessionAgentOptions,
  type SessionEventName,
} from "@ravi/session";
import { onTestFinished } from "vitest";

/** A folder of the test's own, gone after it. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-session-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

export function session(options: SessionAgentOptions): SessionAgent {
  const agent = new SessionAgent({ secrets: [], retry: { baseDelayMs: 0 }, ...options });
  onTestFinished(() => agent.shutdown());
  return agent;
}

const ANY: StandardSchema<Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => ({ value: value as Record<string, unknown> }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

export function tool(name: string, execute: (args: Record<string, unknown>, signal: AbortSignal) => unknown) {
  return defineTool({
    name,
    description: name,
    input: ANY,
    execute: (args, { signal }) => execute(args, signal),
  });
}

export const EVENTS: readonly SessionEventName[] = [
  "input",
  "before_agent_start",
  "context",
  "message_end",
  "tool_call",
  "tool_result",
  "retry_start",
  "retry_end",
  "agent_end",
  "save_point",
  "session_before_compact",
  "session_compact",
  "settled",
];

/** An extension that writes down what it is told. */
export function recorder(log: string[], name = "recorder"): Extension {
  const on = Object.fromEntries(
    EVENTS.map((event) => [
      event,
      (payload: object) => {
        const detail = [
          Reflect.get(payload, "message")?.role,
          Reflect.get(payload, "status"),
          Reflect.get(payload, "success"),
        ];
        log.push([event, ...detail.filter((part) => part !== undefined)].join(" "));
      },
    ]),
  );
  return defineExtension({ name, on });
}
