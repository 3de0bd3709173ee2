/** Runs tasks of the same name one after the other. A name without tasks takes no memory. */
export class Queues {
  private readonly tails = new Map<string, Promise<unknown>>();

  run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.tails.get(name);
    const result = before === undefined ? task() : before.then(task);
    const tail = result.then(nothing, nothing);
    this.tails.set(name, tail);
    void tail.then(() => {
      if (this.tails.get(name) === tail) this.tails.delete(name);
    });
    return result;
  }

  async idle(): Promise<void> {
    while (this.tails.size > 0) await Promise.all(this.tails.values());
  }
}

function nothing(): void {}
