/** `npm run explore`: the exploration, or with `--mutations` the proof that it finds faults. */
await import(process.argv.includes('--mutations') ? '../mutations/run.ts' : './run.ts');
