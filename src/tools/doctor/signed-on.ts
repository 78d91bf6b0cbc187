import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const TIMEOUT_MS = 3_000;
/** A working switch answers sign-on within this time; a gateway that has just started is then signed on. */
const LOOKS = 3;
const LOOK_EVERY_MS = 700;

const readiness = z.object({ switches: z.record(z.string(), z.string()).optional() });

/** The availability of each switch by acquirer and processor id (`/readyz`). */
export type Availabilities = Readonly<Record<string, string>>;

/**
 * Asks the gateway at `url`, which is signed on to the switches, so that the doctor need not sign on itself: a switch may
 * end the gateway's session then.
 *
 * @returns undefined if no gateway answers, or it does not say
 */
export async function askAvailabilities(url: string, token: string | undefined): Promise<Availabilities | undefined> {
  for (let look = 1; ; look++) {
    const switches = await ask(new URL('/readyz', url), token).catch(() => undefined);
    const isDecided = !Object.values(switches ?? {}).includes('connecting');
    if (isDecided || look === LOOKS) return switches;
    await sleep(LOOK_EVERY_MS);
  }
}

async function ask(url: URL, token: string | undefined): Promise<Availabilities | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  // The certificate is for the public name, and this is the listening address.
  const options = { headers, timeout: TIMEOUT_MS, rejectUnauthorized: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const get = url.protocol === 'https:' ? getHttps : getHttp;
    const request = get(url, options, resolve).once('error', reject);
    request.once('timeout', () => request.destroy(new Error('timeout')));
  });
  return readiness.parse(JSON.parse(await text(response))).switches;
}
