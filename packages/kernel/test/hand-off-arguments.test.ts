import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type HireLeaf,
  type Leaf,
  type ModelResponse,
  type ToolCall,
} from "@ravi/kernel";
import { toolTurn, type ToolTurnOptions, type TurnContext } from "@ravi/kernel/loop";

describe("hand-offs whose arguments are read at once or later", () => {
  const helper: Agent = { id: AgentId("helper"), run: async () => Promise.reject(new Error("not run here")) };
  const READ = {
    "at once": (value: unknown) => ({ value }),
    later: async (value: unknown) => ({ value }),
    "by a thenable": (value: unknown) => {
      const name = ["th", "en"].join("");
      const settle = (fulfilled: (result: object) => unknown): void =>
        void Promise.resolve().then(() => fulfilled({ value }));
      return { [name]: settle } as object as Promise<{ value: unknown }>;
    },
  } as const;
  const delegates = Object.entries(READ).map(([name, validate]) => ({
    kind: "delegate" as const,
    name,
    description: "",
    input: {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate,
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    },
    hire: (): HireLeaf => ({ kind: "hire", agent: helper, input: name }),
  }));
  const call = (name: string): ToolCall => ({ id: name, name, arguments: "{}" });
  const names = ["later", "at once", "nobody", "by a thenable"];
  const response: ModelResponse = {
    message: { role: "assistant", content: "", toolCalls: names.map(call) },
    finishReason: "toolCalls",
  };
  const hired = (leaf: Leaf): object => ({
    status: "completed",
    result: { status: "completed", output: leaf.kind === "hire" ? leaf.input : "", stopReason: "done" },
  });
  const batches: number[] = [];
  const ctx: TurnContext = {
    batch: (async (leaves: readonly Leaf[]) => {
      batches.push(leaves.length);
      return leaves.map(hired);
    }) as TurnContext["batch"],
  };

  test("R16: they are asked about and told of in the order of the calls, and made in one batch", async () => {
    batches.length = 0;
    const told: string[] = [];
    const options: ToolTurnOptions = {
      before: ({ id }) => void told.push(`before ${id}`),
      onHire: ({ id }) => told.push(`hire ${id}`),
    };
    const { messages, stop } = await toolTurn(ctx, response, delegates, options);
    expect(told).toEqual([
      "before later",
      "hire later",
      "before at once",
      "hire at once",
      "before nobody",
      "before by a thenable",
      "hire by a thenable",
    ]);
    expect(messages.map(({ toolCallId, isError = false }) => [toolCallId, isError])).toEqual(
      names.map((name) => [name, name === "nobody"]),
    );
    expect([batches, stop]).toEqual([[3], undefined]);
  });

  test.each(Object.keys(READ))(
    "R16: whoever is told of a hire and throws fails the turn, and nobody is hired: read %s",
    async (name) => {
      batches.length = 0;
      const onHire = ({ id }: ToolCall): void => {
        if (id === name) throw new Error(`no hire for ${id}`);
      };
      await expect(toolTurn(ctx, response, delegates, { onHire })).rejects.toThrow(`no hire for ${name}`);
      expect(batches).toEqual([]);
    },
  );
});
