import { StartError } from '../basics/errors.ts';
import { callbackPolicy, GuardedFetch } from '../outbound/guarded-fetch.ts';
import { readConfig } from '../start/config.ts';
import { openKeyRing } from '../start/open-key-ring.ts';
import { RecordedWebhookEndpoints } from '../store/webhooks/webhook-endpoints.ts';
import { CallbackRegistry } from '../webhooks/callback-registry.ts';
import type { Integrator } from '../webhooks/ports.ts';
import { createSecretVault } from '../webhooks/webhook-signature.ts';
import { actor, onDatabase } from './administration.ts';
import { flag, idOf, needed, readWords, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';

/**
 * `tapwire callback ...`: the URL at which an integrator receives webhooks about links and intents. Gateways apply
 * a change within seconds. A new secret is printed once, alone on standard output.
 */
export const commands: Commands = {
  set: command(
    '--acquirer ID --integrator ID [--serves links] URL: set the URL of webhooks for links and intents',
    set,
  ),
  show: command('--acquirer ID --integrator ID [--serves links]: show the URL', show),
  off: command('--acquirer ID --integrator ID [--serves links]: stop webhooks for links and intents', off),
  test: command('--acquirer ID --integrator ID [--serves links]: send a signed test request to the URL', test),
  secret: command(
    '--acquirer ID --integrator ID [--serves links] [--compromised]: issue a new secret; for a day, both secrets sign (--compromised: all earlier ones end at once)',
    secret,
  ),
};

/**
 * The webhooks of links and intents, set on request (interface 4.10). Integrators register those of taps themselves
 * (4.9).
 */
const SERVES = 'links';
/** The default of the HTTP API. */
const OVERLAP_SECONDS = 86_400;

function set(args: string[]): Promise<void> {
  const { owner, words } = parse(args);
  const url = needed(words[0], 'URL: expected the address that receives the webhooks');
  return onCallbacks(async (callbacks) => {
    const fault = await callbacks.register(owner, SERVES, url);
    if (fault) throw new StartError('BAD_CONFIG', `URL ${fault}`);
    return tell(callbacks, owner);
  });
}

function show(args: string[]): Promise<void> {
  const { owner } = parse(args);
  return onCallbacks((callbacks) => tell(callbacks, owner));
}

function off(args: string[]): Promise<void> {
  const { owner } = parse(args);
  return onCallbacks(async (callbacks) => {
    if (!(await callbacks.disable(owner, SERVES))) throw nothingSet();
    return tell(callbacks, owner);
  });
}

function secret(args: string[]): Promise<void> {
  const { owner, isCompromised } = parse(args);
  return onCallbacks(async (callbacks) => {
    const overlap = { overlapSeconds: isCompromised ? 0 : OVERLAP_SECONDS, isCompromised };
    const issued = await callbacks.issueSecret(owner, SERVES, overlap);
    if (!issued) throw nothingSet();
    console.log(issued.secret.reveal());
    return tell(callbacks, owner);
  });
}

/** Exit code 1 unless the receiver responded with a status from 200 to 299. */
function test(args: string[]): Promise<number> {
  const { owner } = parse(args);
  return onCallbacks(async (callbacks) => {
    const attempt = await callbacks.test(owner, SERVES);
    if (!attempt) throw nothingSet();
    const { url, status, error, durationMs } = attempt;
    console.log(`${url} responded with ${status ?? error} in ${durationMs} ms.`);
    return status !== null && status >= 200 && status < 300 ? 0 : 1;
  });
}

function parse(args: string[]) {
  const serves = { ...text, default: SERVES };
  const options = { acquirer: text, integrator: text, serves, compromised: flag };
  const { values, words } = readWords(args, options);
  if (values.serves !== SERVES) {
    const reason = '--serves: expected links; the integrator itself registers the callback for taps';
    throw new StartError('BAD_CONFIG', reason);
  }
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const owner = { acquirerId, integratorId: idOf(values.integrator, '--integrator') };
  return { owner, words, isCompromised: values.compromised };
}

async function onCallbacks<Result>(act: (callbacks: CallbackRegistry) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env);
  const policy = callbackPolicy(config.TAPWIRE_ENV);
  const fetcher = new GuardedFetch({ policy });
  return onDatabase(async (database) => {
    const endpoints = new RecordedWebhookEndpoints(database, actor());
    const vault = createSecretVault(await openKeyRing(config));
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
    return act(new CallbackRegistry({ endpoints, vault, policy, clock, fetcher, onChange: async () => {} }));
  });
}

function nothingSet(): StartError {
  return new StartError('BAD_CONFIG', 'This integrator has no callback for links. Set one with tapwire callback set.');
}

async function tell(callbacks: CallbackRegistry, owner: Integrator): Promise<void> {
  const registered = await callbacks.find(owner, SERVES);
  console.error(registered ? described(registered) : 'No callback is set for links and intents.');
}

function described({ url, disabledAtMs }: { readonly url: string; readonly disabledAtMs: number | null }): string {
  if (disabledAtMs === null) return `Webhooks for links and intents are sent to ${url}.`;
  return `Webhooks for links and intents were sent to ${url} until ${new Date(disabledAtMs).toISOString()}; none are sent now.`;
}
