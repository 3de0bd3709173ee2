import { hashOf } from "../journal/parts/platform.ts";

/** The n-th random number of an execution, from 0 up to 1: the same in every replay. */
export function seededRandom(execId: string, n: number): number {
  return parseInt(hashOf(`${execId}\nrandom\n${n}`).slice(0, 13), 16) / 2 ** 52;
}

/** The n-th id of an execution, as a UUID (version 8, whose content is up to the application): the same in every replay. */
export function seededUuid(execId: string, n: number): string {
  const digits = hashOf(`${execId}\nuuid\n${n}`);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join("-");
}
