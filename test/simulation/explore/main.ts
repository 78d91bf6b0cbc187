/** `npm run explore`: the exploration, or with `--mutations` the proof that it finds what is wrong. */
await import(process.argv.includes('--mutations') ? '../mutations/run.ts' : './run.ts');
