import fc from "fast-check";
import { AgentId, Priority } from "@ravi/kernel";
import { type Agent, type Reference, ancestors } from "./reference.ts";
import { AGING_MS, NAMES, ROOT, type System, flush } from "./system.ts";

type Step = fc.AsyncCommand<Reference, System>;

/** The real thing and the reference differ, or a rule is broken. */
export class Disagreement extends Error {
  override readonly name = "Disagreement";
}

const priorities = fc.constantFrom(...Object.values(Priority));
const picks = fc.nat(1000);

/** One command: what it does to both, and then everything that must be true after any command. */
function step(title: string, act: (model: Reference, real: System) => Promise<void>): Step {
  return {
    check: () => true,
    toString: () => title,
    async run(model, real) {
      await act(model, real);
      await flush();
      agree(model, real);
    },
  };
}

function pick<T>(from: readonly T[], at: number): T | undefined {
  return from[at % from.length];
}

const acquire = fc
  .record({
    name: fc.constantFrom(...NAMES),
    priority: priorities,
    by: picks,
    mode: fc.constantFrom<"deny" | "queue">("deny", "queue"),
  })
  .map(({ name, priority, by, mode }) =>
    step(`acquire(${name}, ${priority}, by ${by}, ${mode})`, async (model, real) => {
      const parent = pick(model.everybody, by)?.id ?? ROOT;
      const before = new Map(model.everybody.map((agent) => [agent.id, agent]));
      const wasPaused = new Set<string>(real.tracker.paused);
      const answer =
        mode === "deny" ? real.acquire(name, priority, parent) : await real.queue(name, priority, parent);
      const victims = real.tracker.paused.filter((id) => !wasPaused.has(id));
      for (const victim of victims) {
        const found = before.get(victim);
        must(found !== undefined && found.priority < priority, `the victim ${victim} is not strictly lower`);
        const above = before.get(parent);
        // By identity: a later agent may bear an ancestor's id.
        const spared = above === undefined ? [] : [above, ...ancestors(above)];
        must(found === undefined || !spared.includes(found), `the victim ${victim} is above the asker`);
      }
      must(victims.length <= 1, "one hire paused several agents");
      same("the answer is", answer, model.acquire(name, priority, parent, mode));
    }),
  );

const ways = fc.constantFrom("lease", "id", "twice", "crash");
const release = fc.record({ whom: picks, way: ways }).map(({ whom, way }) =>
  step(`release(${whom}, ${way})`, async (model, real) => {
    const agent = pick(model.everybody, whom);
    if (agent === undefined) return;
    const lease = real.leases.get(agent.id);
    end(model, real, agent, () => {
      if (way === "id" || lease === undefined) real.tracker.release(AgentId(agent.id));
      else if (way === "crash") crash(() => lease.release());
      else real.tracker.release(lease);
      if (way === "twice") lease?.release();
    });
  }),
);

function end(model: Reference, real: System, agent: Agent, by: () => void): void {
  by();
  if (agent.id === ROOT) return;
  model.release(agent);
  const lease = real.leases.get(agent.id);
  if (lease !== undefined) real.stale.push(lease);
  real.leases.delete(agent.id);
  real.queued.delete(agent.id);
  real.parked.delete(agent.id);
}

function crash(giveBack: () => void): void {
  try {
    try {
      throw new Error("the agent crashed");
    } finally {
      giveBack();
    }
  } catch {
    // Its end is what counts here.
  }
}

const releaseStale = picks.map((whom) =>
  step(`release a lease given back before (${whom})`, async (_model, real) => {
    const lease = pick(real.stale, whom);
    lease?.release();
    if (lease !== undefined) real.tracker.release(lease);
    real.tracker.release(AgentId("nobody"));
  }),
);

const reprioritize = fc.record({ whom: picks, priority: priorities }).map(({ whom, priority }) =>
  step(`reprioritize(${whom}, ${priority})`, async (model, real) => {
    const agent = pick(model.everybody, whom);
    if (agent === undefined) return;
    real.tracker.reprioritize(AgentId(agent.id), priority);
    model.reprioritize(agent, priority);
  }),
);

const cancel = picks.map((whom) =>
  step(`cancel the queued (${whom})`, async (model, real) => {
    const agent = pick(
      model.waiting.filter(({ state }) => state === "queued"),
      whom,
    );
    const entry = agent && real.queued.get(agent.id);
    if (agent === undefined || entry === undefined) return;
    end(model, real, agent, () => entry.abort.abort());
    await flush();
    same("the cancelled promise is", entry.status, "rejected");
  }),
);

const watch = picks.map((whom) =>
  step(`await the resumption (${whom})`, async (model, real) => {
    const agent = pick(model.everybody, whom);
    if (agent !== undefined) real.watch(agent.id);
  }),
);

const advance = fc.integer({ min: 1, max: 3 * AGING_MS }).map((ms) =>
  step(`${ms} ms pass`, async (model, real) => {
    real.time.now += ms;
    model.now += ms;
  }),
);

const restart = fc.constant(
  step("restart from a snapshot", async (model, real) => {
    await real.restart(model.waiting.filter(({ state }) => state === "queued").map(({ id }) => id));
  }),
);

/** What must be true after every command, whatever it was. Plain comparisons: millions of them are made. */
function agree(model: Reference, { tracker, leases, queued, parked }: System): void {
  const { maxAgents } = model.budget;
  const { held, paused } = tracker;
  const snapshot = tracker.snapshot() as { waiting: { id: string; as: string }[]; agents: unknown[] };
  const places = snapshot.waiting.length;
  must(held <= maxAgents, "held passes the cap");
  must(snapshot.agents.length + 1 - places <= maxAgents, "more agents are at work than the cap allows");
  must(places === 0 || held === maxAgents, "somebody waits while a slot is free");
  const { waiting, holding } = model;
  same("waiting", list(snapshot.waiting, "as"), list(waiting, "state"));
  same("held", held, holding.length);
  same("totalSpawned", tracker.totalSpawned, model.totalSpawned);
  const pausedIds = waiting.filter(({ state }) => state === "paused").map(({ id }) => id);
  same("paused", paused.join(), pausedIds.join());
  must(model.canGoOn(), "no holder can finish by itself");
  for (const name of IDS) {
    const agent = model.find(name);
    const state = agent?.state;
    same(`priority of ${name}`, tracker.priorityOf(name), agent?.priority);
    same(`${name} is paused`, tracker.isPaused(name), state === "paused");
    const works = name !== ROOT && (state === "holding" || state === "paused");
    same(`${name} has a lease`, leases.has(name), works);
    same(`${name} is queued`, queued.has(name), state === "queued");
  }
  for (const [id, { status }] of parked) {
    const isPaused = model.find(id)?.state === "paused";
    same(`the wait of ${id} is`, status, isPaused ? "pending" : "granted");
    if (!isPaused) parked.delete(id);
  }
}

const IDS = [ROOT, ...NAMES].map((name) => AgentId(name));

function list<K extends string>(entries: readonly ({ id: string } & Record<K, string>)[], key: K): string {
  return entries.map((entry) => `${entry.id} ${entry[key]}`).join();
}

function same(what: string, real: unknown, expected: unknown): void {
  if (real !== expected) {
    throw new Disagreement(
      `${what}: ${JSON.stringify(real)}, but the reference says ${JSON.stringify(expected)}`,
    );
  }
}

function must(fact: boolean, otherwise: string): void {
  if (!fact) throw new Disagreement(otherwise);
}

/** Hires come more often than anything else, so that the pool is mostly full. */
export const steps = [
  acquire,
  acquire,
  acquire,
  release,
  release,
  releaseStale,
  reprioritize,
  reprioritize,
  cancel,
  watch,
  advance,
  restart,
];
