import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { guardedLookup, type MayDial } from '../../outbound/switch-lookup.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { StoredProcessor } from '../../switching/switches/acquirer-switches.ts';
import { type Finding, fault, good, warning } from './finding.ts';
import { certificateFindings } from './front-findings.ts';

/** A switch in another country responds to a SYN within this time. */
const DIAL_TIMEOUT_MS = 3_000;
export interface SwitchQuestions {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: readonly StoredProcessor[];
  /** Acquirers that have a processor but no route to it. */
  readonly withoutRoute: readonly number[];
  /** The grants of the acquirers. */
  readonly access: SwitchAccess;
  /** As the running gateway reports; undefined if none does. */
  readonly availabilities: Availabilities | undefined;
  readonly nowMs: number;
}

/** Checks each stored processor: its type, settings and certificates, and whether its switch accepts connections. */
export async function switchFindings(questions: SwitchQuestions): Promise<Finding[]> {
  const { stored, withoutRoute } = questions;
  const each = await Promise.all(stored.map((processor) => findingsOf(processor, questions)));
  const unrouted = withoutRoute.map((acquirerId) =>
    warning(
      `acquirer ${acquirerId}`,
      'has processors but no route, so its taps end in ErrorFindingConfig',
      'run tapwire route add',
    ),
  );
  if (stored.length === 0)
    return [warning('switches', 'no processor is configured', 'run tapwire processor add, then tapwire route add')];
  return [...each.flat(), ...unrouted];
}

async function findingsOf(stored: StoredProcessor, questions: SwitchQuestions): Promise<Finding[]> {
  const { types } = questions;
  const part = `processor ${stored.id} of acquirer ${stored.acquirerId}`;
  const type = types.get(stored.type);
  if (!type) {
    return [fault(part, `unknown processor type ${stored.type}`, 'add its folder or package to PROCESSORS')];
  }
  const checked = type.configSchema.safeParse(stored.config);
  if (!checked.success) {
    const description = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    return [fault(part, description, 'run tapwire processor change')];
  }
  const config: SwitchConfig = checked.data;
  const { access } = questions;
  const foreign = access.faults(stored.acquirerId, config).map(({ path, detail }) => `${path.join('.')}: ${detail}`);
  // The doctor does not connect to addresses that the acquirer has no grant for.
  if (foreign.length > 0) return [fault(part, foreign.join('; '), granting(access, stored.acquirerId, config))];
  const mayDial: MayDial = (address, port) => access.mayDial(stored.acquirerId, address, port);
  const dialled = await dialFindings(part, config, mayDial);
  if (dialled.every(({ verdict }) => verdict === 'good'))
    dialled.splice(0, 1, signOnFinding(dialled[0]!, stored, questions));
  return [...(await tlsFindings(part, stored, config, questions)), ...dialled];
}

function granting(access: SwitchAccess, acquirerId: number, config: SwitchConfig): string {
  const missing = access.missingGrants(acquirerId, config).map(({ setting, grant }) => `${grant} to ${setting}`);
  const add = missing.length > 0 ? `add ${missing.join(', ')} in every process, or ` : '';
  return `${add}change the processor`;
}

async function tlsFindings(
  part: string,
  { acquirerId }: StoredProcessor,
  { tls }: SwitchConfig,
  { access, nowMs }: SwitchQuestions,
): Promise<Finding[]> {
  const below = (name: string) => resolve(access.tlsFolder(acquirerId), name);
  const files: { certFile: string; keyFile: string | undefined }[] = [];
  if (tls?.caFile !== undefined) files.push({ certFile: below(tls.caFile), keyFile: undefined });
  if (tls?.certFile !== undefined)
    files.push({ certFile: below(tls.certFile), keyFile: tls.keyFile && below(tls.keyFile) });
  return (await Promise.all(files.map((pair) => certificateFindings(part, pair, nowMs)))).flat();
}

/** A switch can accept connections and never respond to sign-on. Taps are then not sent to it. */
function signOnFinding(
  { part, description }: Finding,
  { acquirerId, id }: StoredProcessor,
  { availabilities }: SwitchQuestions,
): Finding {
  const availability = availabilities?.[`${acquirerId} ${id}`];
  if (availability === undefined)
    return good(part, `${description}; sign-on is unknown, because no gateway responds here that serves it`);
  if (availability === 'ready' || availability === 'full')
    return good(part, `${description}, the gateway is signed on`);
  if (availability === 'keyless')
    return fault(
      part,
      `${description}, the gateway is signed on, but it has no working key that the switch certainly has, so PINs or MACs are not sent`,
      'search the log of the gateway for key exchange; check that the HSM imports keys, and call the operator of the switch if it issues none',
    );
  return fault(
    part,
    `${description}, but no connection of the gateway is signed on (${availability})`,
    'search the log of the gateway for this processor; check ids, keys and sign-on settings with the operator of the switch',
  );
}

/** Opens a connection and closes it again. A switch sees one short connection without a message. */
async function dialFindings(part: string, { addresses }: SwitchConfig, mayDial: MayDial): Promise<Finding[]> {
  if (addresses.length === 0) return [good(part, 'the switch connects to the gateway')];
  const dialled = await Promise.all(
    addresses.map(async (address) => ({ ...address, responds: await responds(address, mayDial) })),
  );
  const silent = dialled.filter(({ responds: did }) => !did).map(({ host, port }) => `${host}:${port}`);
  const dialledText = dialled.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (silent.length === 0) return [good(part, `${dialledText} accepts connections`)];
  const description = `${silent.join(', ')} accepts no connection`;
  const advice = 'check address, firewall and whether the switch runs; tapwire simulate provides a test switch';
  return [silent.length === dialled.length ? fault(part, description, advice) : warning(part, description, advice)];
}

function responds(
  { host, port }: { readonly host: string; readonly port: number },
  mayDial: MayDial,
): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect({ host, port, timeout: DIAL_TIMEOUT_MS, lookup: guardedLookup(port, mayDial) });
    const end = (did: boolean) => {
      socket.destroy();
      settle(did);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

const TIMEOUT_MS = 3_000;
/** A working switch responds to sign-on within this time; a gateway that has just started is then signed on. */
const CHECKS = 3;
const LOOK_EVERY_MS = 700;

const readiness = z.object({ switches: z.record(z.string(), z.string()).optional() });

/** The availability of each switch by acquirer and processor id (`/readyz`). */
export type Availabilities = Readonly<Record<string, string>>;

/**
 * Asks the gateway at `url`, which is signed on to the switches, so that the doctor need not sign on itself: a switch may
 * end the gateway's session then.
 *
 * @returns undefined if no gateway responds, or it does not say
 */
export async function askAvailabilities(url: string, token: string | undefined): Promise<Availabilities | undefined> {
  for (let check = 1; ; check++) {
    const switches = await ask(new URL('/readyz', url), token).catch(() => undefined);
    const isDecided = !Object.values(switches ?? {}).includes('connecting');
    if (isDecided || check === CHECKS) return switches;
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
