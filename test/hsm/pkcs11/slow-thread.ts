import { type MessagePort, workerData } from 'node:worker_threads';

/** The thread of a token that takes 20 ms for each operation, and does them one after the other. */
const port = workerData.port as MessagePort;
port.on('message', ({ number }: { number: number }) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  port.postMessage({ number, result: Buffer.from('1.0') });
});
