import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Why a Python module cannot be used; undefined if it can. */
export async function missingModule(module: string): Promise<string | undefined> {
  try {
    await run('python3', ['-c', `import ${module}`]);
    return undefined;
  } catch {
    return `python3 has no module ${module}: install it with pip to run this test`;
  }
}

/** Runs a script that prints JSON. @param input its first argument, as JSON */
export async function pythonJson<Result>(script: string, input: unknown): Promise<Result> {
  const { stdout } = await run('python3', ['-c', script, JSON.stringify(input)]);
  return JSON.parse(stdout);
}

/** Starts a script that serves until it is stopped, and returns the number that it prints first. */
export async function startPython(script: string): Promise<{ process: ChildProcess; firstNumber: number }> {
  const child = spawn('python3', ['-u', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const firstNumber = await new Promise<number>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the Python script ended')));
    child.stdout.once('data', (chunk: Buffer) => resolve(Number.parseInt(chunk.toString(), 10)));
  });
  child.stdout.resume();
  return { process: child, firstNumber };
}
