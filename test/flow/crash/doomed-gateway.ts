import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type Installation, untilSignedOn } from '../../support/installation.ts';

/** A process of its own needs seconds, and many seconds on a busy machine. */
const UP_WITHIN_MS = 240_000;

/** A gateway that may end at any moment, even before it is ready. */
export interface Doomed {
  readonly process: GatewayProcess;
  /** False if it ended earlier. */
  readonly isUp: boolean;
}

/** Starts a gateway and waits until it is signed on to its switch. */
export async function startDoomed(
  installation: Installation,
  failpoints?: string,
  role: 'all' | 'worker' = 'all',
): Promise<Doomed> {
  const environment = installation.environment(failpoints === undefined ? {} : { TAPWIRE_FAILPOINTS: failpoints });
  const process = new GatewayProcess(['start', '--role', role], { environment });
  const up = eventually(() => untilSignedOn(process.url), UP_WITHIN_MS).then(() => true);
  const isUp = await Promise.race([up, process.end().then(() => false)]);
  up.catch(() => {});
  return { process, isUp };
}
