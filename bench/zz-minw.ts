// usage: node minw.ts <benchdir> <subject> <scenario>
const [dir, name, sc] = process.argv.slice(2);
const { plans } = await import(`${dir}/src/fake.ts`);
const s = await import(`${dir}/src/subjects/${name}.ts`);
const mk: Record<string, [() => () => Promise<unknown>, number]> = {
  S1: [() => s.subject(plans.turns(0), { withTool: false }), 1],
  S2: [() => s.subject(plans.turns(50), { withTool: true }), 50],
  S3: [() => s.subject(plans.parallel(100), { withTool: true }), 100],
  S8: [() => s.team(8, 3), 1],
};
const [make, units] = mk[sc];
const run = make();
const end = performance.now() + Number(process.env.WARM ?? 1800);
while (performance.now() < end) await run();
const W = Number(process.env.W ?? 80),
  MS = 15;
const r: number[] = [];
for (let k = 0; k < W; k++) {
  const t = performance.now();
  let n = 0;
  do {
    await run();
    n++;
  } while (performance.now() - t < MS);
  r.push(((performance.now() - t) * 1000) / n / units);
}
r.sort((a, b) => a - b);
console.log(JSON.stringify({ min: r[0], p10: r[Math.floor(W * 0.1)], med: r[W >> 1] }));
process.exit(0);
