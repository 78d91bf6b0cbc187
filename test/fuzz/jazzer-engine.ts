import { OptionSource, OptionsManager, startFuzzing } from '@jazzer.js/core';
import { type FuzzJob, HANG_MS, MAX_INPUT_BYTES } from './fuzz-target.ts';

/** Fuzzes with Jazzer.js. True if there was a finding; libFuzzer has then printed it and written its input. */
export async function fuzzWithJazzer({ targetUrl, seconds, seed, corpus, findings }: FuzzJob): Promise<boolean> {
  const options = new OptionsManager(OptionSource.DefaultCLIOptions).merge(
    {
      fuzzTarget: targetUrl,
      includes: ['/src/'],
      excludes: ['node_modules'],
      sync: true,
      timeout: HANG_MS,
      // These watch for injections into shells, paths and prototypes, which the parsers do not use.
      disableBugDetectors: ['.*'],
      fuzzerOptions: [
        corpus,
        `-max_total_time=${seconds}`,
        `-seed=${seed}`,
        `-max_len=${MAX_INPUT_BYTES}`,
        `-artifact_prefix=${findings}`,
        '-print_final_stats=1',
      ],
    },
    OptionSource.CommandLineArguments,
  );
  const { returnCode } = await startFuzzing(options);
  return returnCode !== 0;
}
