import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { StartError } from '../errors.ts';
import { openKeyRing } from '../gateway/open-key-ring.ts';
import { PostgresWebhookEndpoints } from '../store/webhook-endpoints.ts';
import { CallbackRegistry } from '../webhooks/callback-registry.ts';
import { callbackPolicy } from '../webhooks/callback-url.ts';
import { GuardedFetch } from '../webhooks/guarded-fetch.ts';
import type { Integrator } from '../webhooks/ports.ts';
import { createSecretVault } from '../webhooks/secret-vault.ts';
import { idOf, onDatabase } from './administration.ts';

const SERVES = 'links';
/** As over HTTP, where nobody says otherwise. */
const OVERLAP_SECONDS = 86_400;

/**
 * `tapwire webhooks links`: where an integrator is told of what came by link or intent, which the operator sets on request
 * (interface 4.10). Gateways follow within seconds. A new secret is printed once, alone on standard output.
 */
export async function run(args: string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { acquirer: text, integrator: text, url: text, off: flag, 'new-secret': flag } as const;
  const { values } = parseArgs({ args, options });
  const owner = {
    acquirerId: idOf(values.acquirer, '--acquirer'),
    integratorId: idOf(values.integrator, '--integrator'),
  };
  return onCallbacks(async (callbacks) => {
    if (values.url !== undefined) await register(callbacks, owner, values.url);
    if (values.off && !(await callbacks.disable(owner, SERVES))) throw nothingSet();
    if (values['new-secret']) await printSecret(callbacks, owner);
    console.error(describe(await callbacks.find(owner, SERVES)));
    return 0;
  });
}

async function onCallbacks<Result>(act: (callbacks: CallbackRegistry) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env);
  const policy = callbackPolicy(config.TAPWIRE_ENV);
  const fetcher = new GuardedFetch({ policy });
  return onDatabase(async (database) => {
    const endpoints = new PostgresWebhookEndpoints(database);
    const vault = createSecretVault(await openKeyRing(config));
    return act(new CallbackRegistry({ endpoints, vault, policy, fetcher, onChange: async () => {} }));
  });
}

async function register(callbacks: CallbackRegistry, owner: Integrator, url: string): Promise<void> {
  const fault = await callbacks.register(owner, SERVES, url).catch((error) => {
    if (error.code !== '23503') throw error; // foreign_key_violation
    return 'is for an integrator that does not exist';
  });
  if (fault) throw new StartError('BAD_CONFIG', `--url ${fault}`);
}

function nothingSet(): StartError {
  return new StartError('BAD_CONFIG', 'Nothing is set for this integrator: --url sets it.');
}

async function printSecret(callbacks: CallbackRegistry, owner: Integrator): Promise<void> {
  const issued = await callbacks.issueSecret(owner, SERVES, OVERLAP_SECONDS);
  if (!issued) throw nothingSet();
  console.log(issued.secret.reveal());
}

function describe(registered: Awaited<ReturnType<CallbackRegistry['find']>>): string {
  if (!registered) return 'Nobody is told of links and intents.';
  const { url, disabledAtMs } = registered;
  if (disabledAtMs === null) return `Links and intents are told at ${url}.`;
  return `Links and intents were told at ${url} until ${new Date(disabledAtMs).toISOString()}; nobody is told now.`;
}
