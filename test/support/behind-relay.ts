import { type Installation, type InstallationOptions, startInstallation } from './installation.ts';
import { Relay } from './relay.ts';

/** An installation, and the relay between it and the switch. The caller closes both. */
export async function startBehindRelay(
  options: Omit<InstallationOptions, 'connectTo'> = {},
): Promise<{ readonly installation: Installation; readonly relay: Relay }> {
  const opened = Promise.withResolvers<Relay>();
  const connectTo = async (switchPort: number) => {
    opened.resolve(await Relay.open(switchPort));
    return (await opened.promise).port;
  };
  const installation = await startInstallation({ ...options, connectTo });
  return { installation, relay: await opened.promise };
}
