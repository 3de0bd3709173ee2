import { RestatePromise } from "@restatedev/restate-sdk";
import type { ExecId, Heard, InboxMessage, JsonValue, WaitSpec } from "@ravi/kernel";
import { json } from "../json.ts";
import type { Mail, Standing, Wanted } from "../root/messages.ts";
import type { RestateEngine } from "./engine.ts";
import { awaiting, type Steps } from "./steps.ts";

type Told<T> = { readonly value: T; readonly standing: Standing };

/** Until somebody delivers what is waited for. What came early is there at once, and nobody is told that it is missing. */
export function* waiting(engine: RestateEngine, lane: number, spec: WaitSpec): Steps<JsonValue> {
  const { context, start, line, ports } = engine;
  const { key, name } = spec;
  engine.flush();
  const told = context.awakeable<Told<JsonValue>>(json());
  const asked = context.run(
    "wait",
    async () => {
      const message = { at: ports.clock.now(), execId: start.execId, lane, key, name, awakeable: told.id };
      const wanted = await line.ask("want", message, engine.attemptOver);
      if (wanted.got === undefined) spec.onWait?.();
      return { key, wanted };
    },
    { serde: json<{ key: string; wanted: Wanted }>() },
  );
  const { key: recorded, wanted } = yield* awaiting(asked, { cut: false });
  engine.expect(key, recorded);
  engine.learn(wanted);
  engine.hearStop(wanted);
  engine.token.check();
  if (wanted.got !== undefined) return wanted.got.value;
  const { value, standing } = yield* awaiting(told.promise, { cut: true });
  engine.learn(standing);
  return value;
}

/** Until it has its seat again. */
export function* resting(engine: RestateEngine, lane: number): Steps<void> {
  const { context, start, line, ports } = engine;
  engine.flush();
  const seated = context.awakeable<Standing>(json());
  const asked = context.run(
    "rest",
    async () => {
      const message = { at: ports.clock.now(), execId: start.execId, lane, awakeable: seated.id };
      return line.ask("park", message, engine.attemptOver);
    },
    { serde: json<Standing>() },
  );
  let standing = yield* awaiting(asked, { cut: false });
  engine.hearStop(standing);
  engine.token.check();
  if (standing.paused) standing = yield* awaiting(seated.promise, { cut: true });
  engine.learn(standing);
}

export interface Question {
  readonly key: string;
  readonly child: ExecId;
  readonly content: JsonValue;
  readonly timeoutMs: number | undefined;
}

export function* asking(engine: RestateEngine, lane: number, question: Question): Steps<Heard> {
  const { context, start } = engine;
  const { key, child, content, timeoutMs } = question;
  engine.flush();
  const heard = context.awakeable<Heard>(json());
  const from = engine.from(lane);
  const message = { id: `${start.execId}:${key}`, from: start.supervision.agentId, content, at: from.at };
  engine.send("ask", { ...from, child, message, awakeable: heard.id });
  if (timeoutMs === undefined) return yield* awaiting(heard.promise, { cut: true });
  const late = context.sleep(timeoutMs, key).map((): Heard => ({ silent: true }));
  return yield* awaiting(RestatePromise.race([heard.promise, late]), { cut: true });
}

export function* reading(
  engine: RestateEngine,
  lane: number,
  key: string,
  wait: boolean,
): Steps<InboxMessage | null> {
  const { context, start, line, ports } = engine;
  engine.flush();
  const told = context.awakeable<Told<InboxMessage>>(json());
  const asked = context.run(
    "mail",
    async () => {
      const message = { at: ports.clock.now(), execId: start.execId, lane, key, wait, awakeable: told.id };
      return { key, mail: await line.ask("mail", message, engine.attemptOver) };
    },
    { serde: json<{ key: string; mail: Mail }>() },
  );
  const { key: recorded, mail } = yield* awaiting(asked, { cut: false });
  engine.expect(key, recorded);
  engine.learn(mail);
  engine.hearStop(mail);
  if (mail.message !== undefined) return mail.message;
  engine.token.check();
  const { value, standing } = yield* awaiting(told.promise, { cut: true });
  engine.learn(standing);
  return value;
}
