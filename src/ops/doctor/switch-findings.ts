import { connect } from 'node:net';
import { resolve } from 'node:path';
import { guardedLookup, type MayDial } from '../../connection/guarded-lookup.ts';
import type { Processor } from '../../processor-kit/processor.ts';
import type { SwitchConfig } from '../../processor-kit/switch-config.ts';
import type { SwitchAccess } from '../../switches/access/switch-access.ts';
import type { StoredProcessor } from '../../switches/acquirer-switches.ts';
import { certificateFindings } from './certificate-findings.ts';
import { type Finding, fault, good, warning } from './finding.ts';

/** A switch in another country answers a SYN within this. */
const DIAL_TIMEOUT_MS = 3_000;
const GIVE =
  'give it to the acquirer in every process (SWITCH_NETWORKS, SWITCH_LISTENERS, SWITCH_KEYS), or change the processor';

export interface SwitchQuestions {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: readonly StoredProcessor[];
  /** Acquirers that have a processor and no route to it. */
  readonly withoutRoute: readonly number[];
  /** What acquirers may reach. */
  readonly access: SwitchAccess;
  readonly nowMs: number;
}

/** Whether each stored processor has its type, settings that fit, certificates that are valid, and a switch that answers. */
export async function switchFindings(questions: SwitchQuestions): Promise<Finding[]> {
  const { stored, withoutRoute } = questions;
  const each = await Promise.all(stored.map((processor) => findingsOf(processor, questions)));
  const unrouted = withoutRoute.map((acquirerId) =>
    warning(
      `acquirer ${acquirerId}`,
      'has processors and no route: its taps are ErrorFindingConfig',
      'tapwire route add',
    ),
  );
  if (stored.length === 0)
    return [warning('switches', 'there is none', 'tapwire processor add, then tapwire route add')];
  return [...each.flat(), ...unrouted];
}

async function findingsOf(stored: StoredProcessor, questions: SwitchQuestions): Promise<Finding[]> {
  const { types } = questions;
  const part = `processor ${stored.id} of acquirer ${stored.acquirerId}`;
  const type = types.get(stored.type);
  if (!type) {
    return [fault(part, `there is no processor type ${stored.type}`, 'name its folder or package in PROCESSORS')];
  }
  const checked = type.configSchema.safeParse(stored.config);
  if (!checked.success) {
    const description = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    return [fault(part, description, 'tapwire processor change')];
  }
  const config: SwitchConfig = checked.data;
  const { access } = questions;
  const foreign = access.faults(stored.acquirerId, config).map(({ path, detail }) => `${path.join('.')}: ${detail}`);
  // What is not the acquirer's is not dialled on its behalf.
  if (foreign.length > 0) return [fault(part, foreign.join('; '), GIVE)];
  const mayDial: MayDial = (address, port) => access.mayDial(stored.acquirerId, address, port);
  return [...(await tlsFindings(part, stored, config, questions)), ...(await dialFindings(part, config, mayDial))];
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

/** A connection is opened and closed again: a switch counts that as no more than a line that came and went. */
async function dialFindings(part: string, { addresses }: SwitchConfig, mayDial: MayDial): Promise<Finding[]> {
  if (addresses.length === 0) return [good(part, 'the switch connects to us')];
  const dialled = await Promise.all(
    addresses.map(async (address) => ({ ...address, answers: await answers(address, mayDial) })),
  );
  const silent = dialled.filter(({ answers: did }) => !did).map(({ host, port }) => `${host}:${port}`);
  const told = dialled.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (silent.length === 0) return [good(part, `${told} takes connections`)];
  const description = `${silent.join(', ')} takes no connection`;
  const advice = 'check address, firewall and whether the switch is up; tapwire simulate stands in for one';
  return [silent.length === dialled.length ? fault(part, description, advice) : warning(part, description, advice)];
}

function answers({ host, port }: { readonly host: string; readonly port: number }, mayDial: MayDial): Promise<boolean> {
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
