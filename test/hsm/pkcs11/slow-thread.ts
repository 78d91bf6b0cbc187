import { type MessagePort, workerData } from 'node:worker_threads';

/** Ten requests have a response; then the thread waits before each one for as long as its caller does, and longer. */
const QUICK = 10;
const LONGER_THAN_CALLERS_MS = 10_000;

const port = workerData.port as MessagePort;
let requests = 0;
port.on('message', ({ number }: { number: number }) => {
  if (++requests > QUICK) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LONGER_THAN_CALLERS_MS);
  port.postMessage({ number, result: Buffer.from('1.0') });
});
