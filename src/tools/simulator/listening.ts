import type { AddressInfo, Server } from 'node:net';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { SimulatorError } from '../../basics/errors.ts';

/**
 * Listens and returns the port, which the system chooses for 0.
 *
 * @throws SimulatorError `PORT_TAKEN` for any reason that prevents listening
 */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) =>
      reject(
        new SimulatorError('PORT_TAKEN', `${host}:${port} cannot be used: ${describeSystemError(cause)}`, { cause }),
      );
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** Stops listening; resolves when every connection is closed. */
export async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
