import { TerminalError } from "@restatedev/restate-sdk";
import { expect, test, vi } from "vitest";
import { answerOf } from "../src/execution/deleted-run.ts";
import { MessageBatcher } from "../src/execution/message-batcher.ts";
import { RootChannel } from "../src/execution/root-channel.ts";
import { Ingress } from "../src/ingress.ts";

interface Request {
  readonly url: string;
  readonly body: {
    readonly said?: readonly { readonly message: { readonly id: string } }[];
    readonly id?: string;
  };
  readonly answer: (status: number, body: unknown) => void;
}

function scene(open?: (runId: string) => void): {
  batcher: MessageBatcher;
  requests: Request[];
  next: () => Promise<Request>;
} {
  const requests: Request[] = [];
  const send = (url: string, init: RequestInit): Promise<Response> =>
    new Promise((resolve) => {
      const answer = (status: number, body: unknown): void => resolve(Response.json(body, { status }));
      requests.push({ url, body: JSON.parse(String(init.body)) as Request["body"], answer });
    });
  const batcher = new MessageBatcher(
    new Ingress({ url: "http://localhost:1", fetch: send as typeof fetch }),
    open,
  );
  const next = async (): Promise<Request> => {
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const request = requests.shift();
    if (request === undefined) throw new Error("nothing was sent");
    return request;
  };
  return { batcher, requests, next };
}

const never = new AbortController().signal;
/** Anything that can be told apart. */
const messageOf = (id: string) => {
  const message = { at: 0, execId: "run", lane: 1, settle: [] };
  return Object.assign(message, { id });
};
const settle = (batcher: MessageBatcher, id: string, signal = never): Promise<unknown> =>
  batcher.ask("run", "settle", messageOf(id), signal);

test("R24: what is said while a message is under way goes in the next, and each gets its own answer", async () => {
  const { batcher, requests, next } = scene();
  const asked = ["a", "b", "c"].map((id) => settle(batcher, id));
  const first = await next();
  expect(requests).toHaveLength(0);
  first.answer(200, "for a");
  const second = await next();
  expect(second.url).toMatch(/several$/);
  expect(second.body.said?.map(({ message }) => message.id)).toEqual(["b", "c"]);
  second.answer(200, ["for b", "for c"]);
  expect(await Promise.all(asked)).toEqual(["for a", "for b", "for c"]);
});

test("R24: where one of several is refused, each is heard by itself", async () => {
  const { batcher, next } = scene();
  const asked = Promise.allSettled(["a", "b", "c"].map((id) => settle(batcher, id)));
  (await next()).answer(200, "for a");
  (await next()).answer(500, "no");
  (await next()).answer(500, "b is wrong");
  (await next()).answer(200, "for c");
  const settled = await asked;
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("R24: who needs no answer any more leaves, and keeps nobody else waiting", async () => {
  const { batcher, next } = scene();
  const gone = new AbortController();
  const first = settle(batcher, "a");
  const second = settle(batcher, "b", gone.signal);
  const third = settle(batcher, "c");
  const request = await next();
  gone.abort(new Error("over"));
  await expect(second).rejects.toThrow("over");
  request.answer(200, "for a");
  const last = await next();
  expect([last.url.endsWith("/settle"), last.body.id]).toEqual([true, "c"]);
  last.answer(200, "for c");
  expect(await Promise.all([first, third])).toEqual(["for a", "for c"]);
});

test("R24: a root that does not answer is looked after, again and again until it does, and then no more", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const opened: string[] = [];
    const { batcher, next } = scene((runId) => void opened.push(runId));
    const asked = settle(batcher, "a");
    const request = await next();
    vi.advanceTimersByTime(1_999);
    expect(opened).toEqual([]);
    vi.advanceTimersByTime(2_001);
    expect(opened).toEqual(["run", "run"]);
    request.answer(200, "for a");
    expect(await asked).toBe("for a");
    vi.advanceTimersByTime(60_000);
    expect(opened).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

test("R24: to an execution, a run that is not known any more is an end for good; to the server it is no reason to try again", async () => {
  const send = async (): Promise<Response> => Response.json({ isUnknown: true });
  const ingress = new Ingress({ url: "http://localhost:8080", fetch: send });
  const channel = new RootChannel(new MessageBatcher(ingress), ingress, "run");
  const asked = channel.ask("crashed", { at: 1, execId: "run", nonce: "n" }, new AbortController().signal);
  await expect(asked).rejects.toBeInstanceOf(TerminalError);
  expect(answerOf("run", [{ denied: undefined }], undefined)).toEqual([{ denied: undefined }]);
  expect(() => answerOf("run", [{ isUnknown: true }], undefined)).toThrow(TerminalError);
  expect(() => answerOf("run", { isUnknown: true }, undefined)).toThrow("run was deleted");
  expect(() => answerOf("run", undefined, new TerminalError("no"))).toThrow("no");
});
