import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const LOADER = new URL('../../src/kits/processor-kit/load-processors.ts', import.meta.url).href;
const CONFORMANCE = new URL('../../src/kits/processor-kit/conformance.ts', import.meta.url).href;

/** The result of loading: the types and the failed checks of the last one, or the error. */
export interface LoadedOutside {
  readonly types?: readonly string[];
  readonly failed?: readonly string[];
  readonly error?: string;
}

interface Order {
  /** The name of a plug-in, as in PROCESSORS. */
  readonly external: string;
  readonly from: string;
}

/** Responds to each line, an order, with a line. */
const SCRIPT = `
  import { createInterface } from 'node:readline';
  const { loadProcessors } = await import(${JSON.stringify(LOADER)});
  const { processorConformance } = await import(${JSON.stringify(CONFORMANCE)});
  for await (const line of createInterface({ input: process.stdin })) {
    const { external, from } = JSON.parse(line);
    try {
      process.chdir(from);
      const processors = await loadProcessors({ external: [external], from });
      const failed = processorConformance([...processors.values()].at(-1)).filter(({ passed }) => !passed);
      console.log(JSON.stringify({ types: [...processors.keys()], failed: failed.map(({ check }) => check) }));
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }));
    }
  }`;

let loader: ReturnType<typeof startLoader> | undefined;

/**
 * Loads in a separate process, as the gateway does, because a test runner resolves names with its own rules. All calls
 * share the process, which takes half a second to start. A plug-in that was loaded is not read again, so each call needs
 * a folder of its own, and waits for the one before.
 */
export function loadOutside(external: string, from: string): Promise<LoadedOutside> {
  loader ??= startLoader();
  return loader({ external, from });
}

/** The process ends with that of the tests, which closes its input. */
function startLoader(): (order: Order) => Promise<LoadedOutside> {
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], { stdio: [...stdio] });
  const responses = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return async (order) => {
    child.stdin!.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await responses.next();
    if (done === true) throw new Error(`The process that loads plug-ins has ended, exit code ${child.exitCode}`);
    return JSON.parse(value) as LoadedOutside;
  };
}
