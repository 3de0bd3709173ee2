const kept: object[] = [];

/**
 * Keeps objects for as long as the process lives, one of each class that runs are made of.
 *
 * V8 forgets the hidden class of what a constructor has built as soon as a garbage collection finds no such object alive, and with it
 * all code that was compiled for that class. An idle server has no runs, and it is when a process is idle that V8 collects. Without
 * this, runs took up to twelve times as long for half a second after such a collection (docs/decisions/0030).
 */
export function keepShapes(...specimens: readonly object[]): void {
  kept.push(...specimens);
}
