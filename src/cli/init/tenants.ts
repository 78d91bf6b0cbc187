import type { z } from 'zod';
import { SETTINGS } from '#schemas/admin-operations';
import { loginNameOf } from '../../auth/portal/log-in.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { checkMerchant } from '../../payments/settings/check-settings.ts';
import type { Config } from '../../start/config.ts';
import { switchAccessOf } from '../../start/open-hsm-and-readers.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { Acquirers } from '../../store/settings/acquirers.ts';
import { INSTALLATION } from '../../store/settings/admin-commit.ts';
import { UserSettings } from '../../store/settings/credential-settings.ts';
import { processorSettingsFor, ROUTE_SETTINGS } from '../../store/settings/processor-settings.ts';
import type { SettingsTable } from '../../store/settings/settings-table.ts';
import { INTEGRATOR_SETTINGS, MERCHANT_SETTINGS, TERMINAL_SETTINGS } from '../../store/settings/tenant-settings.ts';
import { actor, changeOf, checkedBy, listAll } from '../administration.ts';
import { installedTypes } from '../plug-ins.ts';
import { type Answers, BODIES, bodyOf, namingFlags, type Tenant } from './answers.ts';

/** What the first tap needs to know of the tenants. */
export interface FirstTenants {
  readonly acquirerId: number;
  readonly integratorId: number;
}

/** The body that the admin API would receive, with the references that follow from other answers. */
function bodyFor<Name extends Tenant>(
  tenant: Name,
  answers: Answers,
  integratorId = 1,
): z.output<(typeof BODIES)[Name]> {
  const references = {
    ...{ acquirer: {}, integrator: {}, merchant: { integratorId } },
    ...{ terminal: { merchantId: answers['merchant-id'] }, administrator: { role: 'admin' } },
  };
  const schema: z.ZodType = BODIES[tenant];
  return checkedBy(schema, { ...bodyOf(tenant, answers), ...references[tenant] }) as z.output<(typeof BODIES)[Name]>;
}

/** Checks the answers about tenants together, before anything is changed. @throws StartError BAD_CONFIG naming flags */
export async function checkTenants(answers: Answers): Promise<void> {
  for (const tenant of Object.keys(BODIES) as Tenant[]) await namingFlags(tenant, () => bodyFor(tenant, answers));
  await namingFlags('merchant', () => checkMerchant(bodyFor('merchant', answers)));
}

/** @returns the id of the acquirer with this name */
export async function ensureAcquirer(database: Database, answers: Answers): Promise<number> {
  const acquirers = new Acquirers(database);
  const body = bodyFor('acquirer', answers);
  const known = await listAll('id', (page) => acquirers.list(page));
  const found = known.find(({ name }) => name === body.name);
  return (await ensure(`acquirer ${body.name}`, found, () => acquirers.add(actor(), body))).id;
}

/**
 * Creates what does not exist yet: integrator, processor with its route, merchant, terminal and administrator. What exists
 * stays as it is. The password of a new administrator is printed once.
 *
 * @throws StartError BAD_CONFIG naming a flag
 */
export async function ensureTenants(
  database: Database,
  settings: Config,
  acquirerId: number,
  answers: Answers,
  config: SwitchConfig,
): Promise<FirstTenants> {
  const change = changeOf(acquirerId);
  const ensureIn = async <New extends object, Stored extends object>(
    what: string,
    table: SettingsTable<New, Stored>,
    body: New,
    isSame: (stored: Stored) => boolean,
  ): Promise<Stored> => {
    const stored = new AcquirerSettings(database, table);
    const known = await listAll(table.key.name as keyof Stored & string, (page) => stored.list(change, page));
    return ensure(what, known.find(isSame), () => stored.add(change, body));
  };
  const integrator = bodyFor('integrator', answers);
  const { id: integratorId } = await ensureIn(
    `integrator ${integrator.name}`,
    INTEGRATOR_SETTINGS,
    integrator,
    ({ name }) => name === integrator.name,
  );
  const type = answers.processor!;
  const { id: processorId } = await ensureIn(
    `processor of type ${type}`,
    processorSettingsFor(await installedTypes(), switchAccessOf(settings)),
    checkedBy(SETTINGS.processors.add.body, { type, config: { ...config } }),
    (each) => each.type === type,
  );
  await ensureIn(
    `route to processor ${processorId}`,
    ROUTE_SETTINGS,
    checkedBy(SETTINGS.routes.add.body, { processorId, priority: 1 }),
    (each) => each.processorId === processorId,
  );
  const merchant = bodyFor('merchant', answers, integratorId);
  await ensureIn(`merchant ${merchant.id}`, MERCHANT_SETTINGS, merchant, ({ id }) => id === merchant.id);
  const terminal = bodyFor('terminal', answers);
  await ensureIn(`terminal ${terminal.xTid}`, TERMINAL_SETTINGS, terminal, ({ xTid }) => xTid === terminal.xTid);
  await ensureAdministrator(database, settings, answers);
  return { acquirerId, integratorId };
}

/** An administrator of the installation, who sees all acquirers in the console. */
async function ensureAdministrator(database: Database, { LOGIN_DOMAINS }: Config, answers: Answers): Promise<void> {
  const users = new UserSettings(database, LOGIN_DOMAINS);
  const change = changeOf(INSTALLATION);
  const body = bodyFor('administrator', answers);
  const known = await listAll('id', (page) => users.list(change, page));
  const found = known.find(({ username }) => loginNameOf(username) === loginNameOf(body.username));
  let password: string | null = null;
  await ensure(`administrator ${body.username}`, found, async () => {
    const added = await namingFlags('administrator', () => users.add(change, body));
    password = added.password;
    return added.stored;
  });
  if (password !== null) console.log(`         password, shown this once: ${password}`);
}

async function ensure<Stored>(what: string, found: Stored | undefined, add: () => Promise<Stored>): Promise<Stored> {
  const stored = found ?? (await add());
  console.log(`${found ? 'exists   ' : 'created  '}${what}`);
  return stored;
}
