import { parseArgs } from 'node:util';
import { routeSettings, type StoredRoute } from '#schemas/admin-routing';
import { ROUTE_SETTINGS } from '../store/settings/route-settings.ts';
import { changeOf, checkedBy, idOf, listAll, onSettings } from './administration.ts';
import { type Commands, runCommand } from './commands.ts';
import { tableOf } from './table.ts';

const COMMANDS: Commands = {
  list: { says: '--acquirer ID [--json]', load: async () => ({ run: list }) },
  add: {
    says: '--acquirer ID --processor ID [--priority 1] [--currency ZAR] [--scheme Visa] [--terminal X-TID]',
    load: async () => ({ run: add }),
  },
  remove: { says: '--acquirer ID ROUTE', load: async () => ({ run: remove }) },
};

/**
 * `tapwire route list|add|remove`: which taps of an acquirer go to which of its processors. A tap tries the routes that fit
 * it, the lowest priority first. Gateways follow by themselves.
 */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire route', COMMANDS, args);
}

const text = { type: 'string' } as const;

async function list(args: string[]): Promise<number> {
  const options = { acquirer: text, json: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ args, options });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const routes = await onSettings(ROUTE_SETTINGS, (settings) =>
    listAll(
      (page) => settings.list({ acquirerId }, page),
      ({ id }) => id,
    ),
  );
  console.log(values.json ? JSON.stringify(routes, null, 2) : tableOf([TITLES, ...routes.map(rowOf)]));
  return 0;
}

async function add(args: string[]): Promise<number> {
  const options = {
    acquirer: text,
    processor: text,
    priority: { ...text, default: '1' },
    currency: text,
    scheme: text,
    terminal: text,
  } as const;
  const { values } = parseArgs({ args, options });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { currency, scheme, terminal } = values;
  const given = checkedBy(routeSettings, {
    processorId: idOf(values.processor, '--processor'),
    priority: Number(values.priority),
    ...{ currency, scheme, xTid: terminal },
  });
  const added = await onSettings(ROUTE_SETTINGS, (settings) => settings.add(changeOf(acquirerId), given));
  console.log(tableOf([TITLES, rowOf(added)]));
  return 0;
}

async function remove(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { acquirer: text } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(positionals[0], 'ROUTE');
  await onSettings(ROUTE_SETTINGS, (settings) => settings.remove(changeOf(acquirerId), id));
  console.log(`Route ${id} is removed: taps stop going by it within seconds.`);
  return 0;
}

const TITLES = ['ROUTE', 'PRIORITY', 'PROCESSOR', 'CURRENCY', 'SCHEME', 'TERMINAL'];

function rowOf({ id, priority, processorId, currency, scheme, xTid }: StoredRoute): string[] {
  return [String(id), String(priority), String(processorId), currency ?? 'any', scheme ?? 'any', xTid ?? 'any'];
}
