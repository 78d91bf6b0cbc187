import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const LOADER = new URL('../../src/kits/processor-kit/load-processors.ts', import.meta.url).href;
const CONFORMANCE = new URL('../../src/kits/processor-kit/conformance.ts', import.meta.url).href;

/** The result of loading: the types and the failed checks of the last one, or the error. */
export interface LoadedOutside {
  readonly types?: readonly string[];
  readonly failed?: readonly string[];
  readonly error?: string;
}

/** Loads in a separate process, as the gateway does, because a test runner resolves names with its own rules. */
export async function loadOutside(external: string, from: string): Promise<LoadedOutside> {
  const script = `
    const { loadProcessors } = await import(${JSON.stringify(LOADER)});
    const { processorConformance } = await import(${JSON.stringify(CONFORMANCE)});
    try {
      const processors = await loadProcessors({ external: [${JSON.stringify(external)}], from: ${JSON.stringify(from)} });
      const failed = processorConformance([...processors.values()].at(-1)).filter(({ passed }) => !passed);
      console.log(JSON.stringify({ types: [...processors.keys()], failed: failed.map(({ check }) => check) }));
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }));
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: from });
  return JSON.parse(stdout) as LoadedOutside;
}
