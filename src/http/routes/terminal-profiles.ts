import { OPERATIONS } from '#schemas/operations';
import type { Authenticator } from '../../auth/authenticator.ts';
import { checkReader, type ReaderRules } from '../../payments/settings/check-settings.ts';
import { readNewProfile, readProfileChange } from '../../payments/settings/read-profile.ts';
import type { TerminalProfileSettings } from '../../store/settings/terminal-profile-settings.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import type { RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';
import { identifyAdministrator, locationOf } from './admin-settings.ts';

export interface TerminalProfileRoutesOptions {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  readonly profiles: TerminalProfileSettings;
  readonly readerRules: ReaderRules;
  /** Called for every change, so that this process uses it at once. */
  readonly onChange: () => Promise<void>;
}

const SCOPE = 'profiles:manage';

function profileFacts(
  summary: string,
  section: string,
  description: string,
  problems: RouteFacts['problems'] = {},
): { facts: RouteFacts } {
  return { facts: { summary, section, takes: ['operatorKey', 'acquirerKey'], scope: SCOPE, description, problems } };
}

/** 4.17: the terminal profiles of an acquirer, for the acquirer and the operator. These routes accept no tokens. */
export function registerTerminalProfileRoutes(server: Server, options: TerminalProfileRoutesOptions): void {
  registerChanges(server, options);
  registerReads(server, options);
}

function registerChanges(
  server: Server,
  { authenticator, idempotent, profiles, readerRules, onChange }: TerminalProfileRoutesOptions,
): void {
  const onRequest = identifyAdministrator(authenticator, SCOPE);

  withZod(server).route({
    ...routeOf(OPERATIONS.createTerminalProfile, 201),
    config: profileFacts(
      'Create a terminal profile',
      '4.17',
      'Creates a terminal configuration profile in the advanced format (`overrides`) or the simple format (`configList`). The ' +
        'gateway stores and returns the advanced format. The profile applies to taps whose token names it (claim `spCfg`) and ' +
        'to taps at terminals that use it. A tap outside the profile gets the status ErrorFindingConfig. Entries without ' +
        '`remove` list everything that the profile accepts; entries with `remove` exclude an item. `reader` names the format of ' +
        'the card data, if it is not `jwe`.',
      { 409: [119, 134] },
    ),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { name, ...body } = request.body;
      checkReader(readerRules, request.params.acquirerId, body.reader);
      const added = await profiles.add(request.change!, { name, ...readNewProfile(body) });
      await onChange();
      reply.code(201).header('location', locationOf(request, name));
      return added;
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.updateTerminalProfile, 200),
    config: profileFacts(
      'Update a terminal profile',
      '4.17',
      'Replaces each field in the body completely; all other fields keep their values. Takes effect within seconds.',
    ),
    onRequest,
    handler: async (request) => {
      checkReader(readerRules, request.params.acquirerId, request.body.reader);
      const changed = readProfileChange(request.body);
      const stored = await profiles.change(request.change!, request.params.profile, changed);
      await onChange();
      return stored;
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.deleteTerminalProfile, 204),
    config: profileFacts(
      'Delete a terminal profile',
      '4.17',
      'Deletes the profile. Refused with 409 while a terminal uses the profile. Taps whose token still names the profile are refused.',
      { 409: [134] },
    ),
    onRequest,
    handler: async (request, reply) => {
      await profiles.remove(request.change!, request.params.profile);
      await onChange();
      return reply.code(204).send(null);
    },
  });
}

function registerReads(server: Server, { authenticator, profiles }: TerminalProfileRoutesOptions): void {
  const onRequest = identifyAdministrator(authenticator, SCOPE);

  withZod(server).route({
    ...routeOf(OPERATIONS.listTerminalProfiles, 200),
    config: profileFacts(
      'List terminal profiles',
      'extension',
      'Lists the profiles of the acquirer, ordered by name. The header `Link` (`rel="next"`) leads to the next page.',
    ),
    onRequest,
    handler: async (request, reply) => {
      const rows = await profiles.list(request.change!, request.query);
      return withNextPage(request, reply, rows, ({ name }) => name);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.showTerminalProfile, 200),
    config: profileFacts('Show a terminal profile', 'extension', 'Returns one profile in the advanced format.'),
    onRequest,
    handler: (request) => profiles.find(request.change!, request.params.profile),
  });
}
