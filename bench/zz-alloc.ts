import { getHeapStatistics } from "node:v8";
const [dir, ...which] = process.argv.slice(2);
const { plans } = await import(`${dir}/src/fake.ts`);
const al = () => (getHeapStatistics() as any).total_allocated_bytes;
for (const name of ["hand-written", "bare", "governed"]) {
  const s = await import(`${dir}/src/subjects/${name}.ts`);
  const row: string[] = [];
  for (const [label, run, units] of [
    ["S1", s.subject(plans.answer, { withTool: false }), 1],
    ["S2", s.subject(plans.turns(50), { withTool: true }), 50],
    ["S8", s.team(8, 3), 1],
  ] as const) {
    const end = performance.now() + 1200;
    while (performance.now() < end) await run();
    let least = Infinity;
    const N = label === "S1" ? 400 : 20;
    for (let r = 0; r < 40; r++) {
      const b = al();
      for (let i = 0; i < N; i++) await run();
      least = Math.min(least, (al() - b) / N / units);
    }
    row.push(`${label} ${least.toFixed(0)}`);
  }
  console.log(name, row.join("  "));
}
process.exit(0);
