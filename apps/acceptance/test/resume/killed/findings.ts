import { type HistoryProvider, SessionId, textOf, totalTokens } from "@ravi/kernel";
import type { Ended, Said } from "../../../src/killed/program.ts";
import type { RunWork } from "../../../src/killed/work.ts";
import type { Provider } from "./provider.ts";

/** A run that was stopped gives a busy journal or history a second. On a busy machine that may be too short: it is said, and resumed. */
const TOO_BUSY = /no answer within 1000 ms/;

/** Compares what the processes say with each other, and with the provider's bill. */
export class Findings {
  readonly cancelled = new Set<string>();
  /** Whether a process went on after its claims had lapsed. What it had begun it may do beside the next one. */
  hasZombie = false;
  private readonly faults: string[] = [];
  private readonly works: readonly RunWork[];
  private readonly ended = new Map<string, Ended>();
  private readonly saw = new Map<string, string>();
  private readonly seen = new Set<string>();
  private readonly done = new Map<string, number>();
  private readonly allowed = new Map<string, number>();

  constructor(works: readonly RunWork[]) {
    this.works = works;
  }

  /** Whether a run is not over, and nothing was wrong. */
  get isOpen(): boolean {
    return this.faults.length === 0 && this.works.some(({ runId }) => !this.ended.has(runId));
  }

  fault(text: string): void {
    this.faults.push(text);
  }

  /** Somebody has decided that a tool in doubt is called again. */
  allowOnceMore(key: string): void {
    this.allowed.set(key, (this.allowed.get(key) ?? 0) + 1);
  }

  /** `isCramped`: the disk of that process may be full, which it has to say. */
  hear(said: Said, isCramped: boolean): void {
    if ("saw" in said) this.hearSaw(`${said.saw} ${said.at}`, said.text);
    if ("did" in said) this.hearDid(said.did, said.isIdempotent);
    if ("ended" in said && said.ended.status !== "suspended") this.hearEnded(said.run, said.ended);
    if ("rejected" in said) this.hearRejected(said.run, said.rejected, said.message, isCramped);
    if ("fault" in said && !TOO_BUSY.test(said.fault) && !isCramped) this.fault(said.fault);
  }

  async all(provider: Provider, history: HistoryProvider): Promise<readonly string[]> {
    for (const work of this.works) {
      const status = this.ended.get(work.runId)?.status;
      if (status === undefined) this.fault(`${work.runId} has no end`);
      if (status === "completed") await this.checkHistory(work, history);
    }
    for (const [runId, ended] of this.ended) this.checkMoney(runId, ended, provider);
    return [...this.faults, ...provider.faults];
  }

  /**
   * What an agent has seen is on record, so it sees the same again. Not on record are that a spawned child has started, and that an agent
   * which has nothing else on record was paused.
   */
  private hearSaw(where: string, text: string): void {
    const before = this.saw.get(where) ?? text;
    if (before !== text && !before.startsWith("spawn") && !text.endsWith("! PAUSED"))
      this.fault(`${where} saw "${before}", and then "${text}"`);
    this.saw.set(where, text);
    for (const [key] of text.matchAll(/\S+:tool:\S+/g)) this.seen.add(key);
  }

  private hearDid(key: string, isIdempotent: boolean): void {
    const times = (this.done.get(key) ?? 0) + 1;
    this.done.set(key, times);
    if (!isIdempotent && times > 1 + (this.allowed.get(key) ?? 0))
      this.fault(`${key} was done ${times} times`);
    if (this.seen.has(key) && !this.hasZombie) this.fault(`${key} was done again after its result was seen`);
  }

  private hearRejected(runId: string, code: string, message: string, isCramped: boolean): void {
    // Another process has it.
    if (code === "JOURNAL_LOCKED" || TOO_BUSY.test(message)) return;
    if (code !== "JOURNAL_FAILED" || !isCramped) this.fault(`${runId} was rejected: ${message}`);
  }

  private hearEnded(runId: string, ended: Ended): void {
    const { status, error } = ended;
    const [before, now] = [this.ended.get(runId) ?? ended, ended].map((each) => JSON.stringify(each));
    if (before !== now) this.fault(`${runId} was ${before}, and is ${now}`);
    if (status === "failed" || (status === "cancelled" && !this.cancelled.has(runId)))
      this.fault(`${runId} is ${status}: ${error}`);
    this.ended.set(runId, ended);
  }

  /** What the root has added to its conversation is stored, once. */
  private async checkHistory({ runId, steps }: RunWork, history: HistoryProvider): Promise<void> {
    const key = { sessionId: SessionId(`session of ${runId}`), agentName: `root-${runId}` };
    const stored = (await history.load(key)).messages.map(textOf);
    const added = steps.flatMap((step, at) => (step.do === "remember" ? [`${runId}|${at}`] : []));
    if (stored.join() !== added.join()) this.fault(`the conversation of ${runId} is ${stored.join()}`);
  }

  /** The ledger has no less than the provider, and the same if nothing was in doubt or given up. What was paid twice is said. */
  private checkMoney(runId: string, { usage, cost, inDoubt, status }: Ended, provider: Provider): void {
    const tokens = totalTokens(usage);
    if (Math.round((cost ?? NaN) * 1e6) !== tokens)
      this.fault(`${runId}: ${cost} dollars for ${tokens} tokens`);
    let charged = 0;
    // Whoever ends cancels its children, and a call that is given up, or breaks off, is charged in full.
    let isExact =
      status === "completed" &&
      inDoubt.length === 0 &&
      !JSON.stringify(this.works.find((work) => work.runId === runId)).includes('"spawn"');
    for (const [key, bill] of provider.billed()) {
      if (key.split(/[/:]/, 1)[0] !== runId) continue;
      const isBroken = provider.broken.has(key);
      // The call of a tool is in doubt together with its tool.
      const isSaid = inDoubt.some((doubt) => key === doubt || key.startsWith(`${doubt}/`));
      if (bill.times > (isBroken ? 2 : 1) && !isSaid) this.fault(`${key} was paid ${bill.times} times`);
      charged += bill.tokens;
      isExact &&= !isBroken;
    }
    if (isExact ? tokens !== charged : tokens < charged)
      this.fault(`${runId} is ${status} with ${tokens} tokens, and the provider has charged ${charged}`);
  }
}
