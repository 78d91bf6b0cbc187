import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type Installation, untilSignedOn } from '../../support/installation.ts';

/** Starts a gateway that may end at any moment, even before it is up. */
export async function startDoomed(
  installation: Installation,
  failpoints?: string,
): Promise<{ readonly process: GatewayProcess; readonly isUp: boolean }> {
  const environment = installation.environment(failpoints === undefined ? {} : { TAPWIRE_FAILPOINTS: failpoints });
  const process = new GatewayProcess(['start', '--role', 'all'], { environment });
  const up = eventually(() => untilSignedOn(process.url)).then(() => true);
  const isUp = await Promise.race([up, process.end().then(() => false)]);
  up.catch(() => {});
  return { process, isUp };
}
