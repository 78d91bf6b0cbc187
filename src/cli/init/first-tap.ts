import { createPrivateKey, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { signPossessionProof } from '../../auth/issuers/issuer-keys.ts';
import { SimulatorError, StartError } from '../../basics/errors.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import { startGateway } from '../../main.ts';
import { createLog } from '../../observe/log.ts';
import { callbackPolicy } from '../../outbound/guarded-fetch.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { currencyOf, formatAmount } from '../../payments/model/money.ts';
import type { Config } from '../../start/config.ts';
import type { PreparedDatabase } from '../../start/open-stores.ts';
import { IssuerKeySettings } from '../../store/settings/credential-settings.ts';
import { askAvailabilities } from '../../tools/doctor/switch-findings.ts';
import { authorizationOf, Phone } from '../../tools/phone/phone.ts';
import { createIssuer, type Profile } from '../../tools/phone/profile.ts';
import { demoHsm } from '../../tools/simulator/demo-hsm.ts';
import { startSimulator } from '../../tools/simulator/start-simulator.ts';
import { changeOf } from '../administration.ts';
import { examine, printFindings } from '../doctor.ts';
import { describe } from '../tap.ts';
import type { Answers } from './answers.ts';
import type { FirstTenants } from './tenants.ts';

/** The taps of `tapwire init` have references with this beginning. One that was approved is not repeated. */
const REFERENCES = 'tapwire-init-';
/** Its amount: the simulated switches approve it. */
const AMOUNT_MINOR = 1_000;
const ISSUER = 'https://init.tapwire.example';
/** A gateway that has just started signs on at once; a busy machine needs longer. */
const SIGNED_ON_WITHIN_MS = 30_000;

export interface SimulatedInstallation {
  readonly settings: Config;
  readonly prepared: PreparedDatabase;
  readonly tenants: FirstTenants;
  readonly answers: Answers;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly port: number;
}

/**
 * Examines the installation while a gateway and a simulated switch run in this process, and submits one tap. The tap's
 * issuer key exists only meanwhile.
 *
 * @returns the exit code: 1 if the doctor finds a fault or the tap is not approved
 */
export async function examineWithTap(installation: SimulatedInstallation): Promise<number> {
  const { settings, prepared, processor, config, port } = installation;
  // The configuration names no keys, so the HSM of the switch has none.
  const hsm = demoHsm([config], 'dev');
  const simulator = await startSimulator({ processors: [{ processor, config, port }], hsm }).catch((error) => {
    if (error instanceof SimulatorError) return undefined; // the operator's own simulated switch has the port
    throw error;
  });
  try {
    const phone = await openPhone(installation);
    try {
      const gateway = await startGateway(besides(settings), prepared, createLog('error'));
      try {
        await untilSignedOn(gateway.url, settings);
        const exitCode = printFindings(await examine(settings, Date.now(), gateway.url));
        return (await phone.tap(gateway.url)) ? exitCode : 1;
      } finally {
        await gateway.stop();
      }
    } finally {
      await phone.close();
    }
  } finally {
    await simulator?.close();
  }
}

/** The settings of a gateway for this process alone, beside those that may run already. */
function besides(settings: Config): Config {
  return {
    ...settings,
    ...{ TAPWIRE_ROLE: 'all', HOST: '127.0.0.1', PORT: 0, TRUSTED_PROXIES: ['127.0.0.1'] },
    ...{ TLS_CERT_FILE: undefined, TLS_KEY_FILE: undefined },
  };
}

/** The doctor then reports a switch that accepts no sign-on. */
async function untilSignedOn(url: string, { METRICS_TOKEN }: Config): Promise<void> {
  const endsAtMs = performance.now() + SIGNED_ON_WITHIN_MS;
  while (performance.now() < endsAtMs) {
    const states = Object.values((await askAvailabilities(url, METRICS_TOKEN)) ?? {});
    if (states.length > 0 && states.every((state) => state === 'ready')) return;
    await sleep(100);
  }
}

const EARLIER = `
select count(*)::integer as count, coalesce(bool_or(t.disposition = ${Disposition.Approved}), false) as "isApproved"
from merchant_references r join transactions t on t.acquirer_id = r.acquirer_id and t.id = r.id
where r.acquirer_id = $1 and r.merchant_id = $2 and starts_with(r.merchant_reference, $3)`;

/** A phone of the first merchant, whose issuer key is revoked by `close`. */
async function openPhone({ settings, prepared, tenants, answers }: SimulatedInstallation) {
  const { acquirerId, integratorId } = tenants;
  const { TAPWIRE_ENV, TAPWIRE_AUDIENCE: audience } = settings;
  const merchantId = answers['merchant-id']!;
  const { rows } = await prepared.database.query<{ count: number; isApproved: boolean }>(EARLIER, [
    ...[acquirerId, merchantId, REFERENCES],
  ]);
  const { count, isApproved } = rows[0]!;
  if (isApproved) {
    const tap = async () => {
      console.log(`exists   an approved test tap, with a reference ${REFERENCES}...`);
      return true;
    };
    return { tap, close: async () => {} };
  }
  const issuer = createIssuer({ iss: ISSUER, kid: randomUUID(), audience });
  const issuerKeys = new IssuerKeySettings(prepared.database, {
    policy: callbackPolicy(TAPWIRE_ENV),
    ownName: audience,
  });
  const change = changeOf(acquirerId);
  const { id } = await issuerKeys.add(change, {
    ...{ issuer: ISSUER, kid: issuer.kid, publicKey: issuer.publicKey, jwksUrl: null, algorithms: null },
    ...{ integratorId, merchantId: null },
    proof: await signPossessionProof(createPrivateKey(issuer.privateKey), 'ES256', {
      issuer: ISSUER,
      acquirerId,
      audience,
    }),
  });
  const merchant = {
    id: merchantId,
    name: answers.merchant!,
    mcc: answers.mcc!,
    xTid: answers.terminal!,
    user: 'init',
  };
  const profile = { apiKey: '', login: { username: '', password: '' }, acquirerId, merchant, issuer };
  const amount = { currency: answers.currency!, merchantReference: `${REFERENCES}${count + 1}` };
  const tap = (url: string) => submit({ ...profile, url }, amount);
  return { tap, close: async () => void (await issuerKeys.remove(change, id)) };
}

/** @returns whether it was approved */
async function submit(
  profile: Profile,
  { currency, merchantReference }: { readonly currency: string; readonly merchantReference: string },
): Promise<boolean> {
  // As the proxy in front of the gateway would.
  const throughProxy: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...(init?.headers as object), 'x-forwarded-proto': 'https' } });
  const amount = formatAmount(AMOUNT_MINOR, currencyOf(currency));
  const response = await new Phone(profile, undefined, throughProxy)
    .tap({ amount, currency, merchantReference })
    .catch((cause) => {
      throw new StartError('BAD_CONFIG', 'The gateway did not respond to the test tap.', { cause });
    });
  console.log(`tap      ${describe(response)}`);
  return authorizationOf(response)?.type === 'Approved';
}
