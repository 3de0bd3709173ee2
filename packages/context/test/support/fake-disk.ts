import type { HistoryFile, HistoryFiles } from "@ravi/context";

interface Node {
  data: Buffer;
  /** What would still be there after the power went out. */
  durable: Buffer;
}

export type Fault = "EIO" | "ENOSPC" | "EFBIG" | "short write";

/** A disk in memory that fails when told to, and forgets what was not synced when its power goes out. */
export class FakeDisk implements HistoryFiles {
  operations = 0;
  readonly opened: string[] = [];
  private readonly nodes = new Map<string, Node>();
  private durableNames = new Map<string, Node>();
  private fault: { at: number; kind: Fault } | undefined;

  failAt(operation: number, kind: Fault): void {
    this.fault = { at: this.operations + operation, kind };
  }

  heal(): void {
    this.fault = undefined;
  }

  /** `keep` decides for each byte that was not synced whether it got to the disk; one that did not is a zero. */
  powerOut(keep: (offset: number) => boolean = () => false): void {
    this.heal();
    for (const name of this.nodes.keys()) if (!this.durableNames.has(name)) this.nodes.delete(name);
    for (const [name, node] of this.durableNames) {
      const { data, durable } = node;
      let end = durable.length;
      const after = Buffer.alloc(data.length);
      durable.copy(after, 0, 0, Math.min(durable.length, data.length));
      for (let at = durable.length; at < data.length; at++) {
        if (!keep(at)) continue;
        after[at] = data[at] ?? 0;
        end = at + 1;
      }
      node.data = Buffer.from(after.subarray(0, Math.min(end, after.length)));
      node.durable = node.data;
      this.nodes.set(name, node);
    }
  }

  bytes(): Buffer | undefined {
    return [...this.nodes.values()][0]?.data;
  }

  overwrite(data: Uint8Array): void {
    for (const node of this.nodes.values()) node.durable = node.data = Buffer.from(data);
  }

  mkdir(): Promise<void> {
    return this.step().then(() => undefined);
  }

  async unlink(path: string): Promise<void> {
    await this.step();
    if (!this.nodes.delete(path)) throw coded("ENOENT");
  }

  async open(path: string, _flags: number, mode?: number): Promise<HistoryFile> {
    await this.step();
    this.opened.push(path);
    if (!path.endsWith(".jsonl")) return this.folder();
    let node = this.nodes.get(path);
    if (node === undefined) {
      if (mode === undefined) throw coded("ENOENT");
      node = { data: Buffer.alloc(0), durable: Buffer.alloc(0) };
      this.nodes.set(path, node);
    }
    return this.file(node);
  }

  private file(node: Node): HistoryFile {
    return {
      stat: async () => {
        await this.step();
        return { size: node.data.length };
      },
      readFile: async () => {
        await this.step();
        return node.data;
      },
      write: async (bytes, offset, length) => {
        const short = await this.step("short write");
        const bytesWritten = short ? Math.ceil(length / 2) : length;
        node.data = Buffer.concat([node.data, bytes.subarray(offset, offset + bytesWritten)]);
        return { bytesWritten };
      },
      truncate: async (size) => {
        await this.step();
        node.data = Buffer.from(node.data.subarray(0, size));
      },
      sync: async () => {
        await this.step();
        node.durable = node.data;
      },
      close: () => Promise.resolve(),
    };
  }

  private folder(): HistoryFile {
    const none = (): never => {
      throw coded("EISDIR");
    };
    return {
      stat: () => Promise.resolve({ size: 0 }),
      sync: async () => {
        await this.step();
        this.durableNames = new Map(this.nodes);
      },
      close: () => Promise.resolve(),
      readFile: none,
      write: none,
      truncate: none,
    };
  }

  /** Every operation passes here. True if it is to be done by half. */
  private async step(half?: "short write"): Promise<boolean> {
    await Promise.resolve();
    const { fault } = this;
    if (++this.operations !== fault?.at) return false;
    this.fault = undefined;
    if (fault.kind !== "short write") throw coded(fault.kind);
    return half === "short write";
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}
