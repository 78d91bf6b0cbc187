import { z } from 'zod';
import { deviceInstallationId } from '#schemas/card-data';
import { terminalConfig } from '#schemas/terminal-profile';
import { proximityTokenClaims } from '#schemas/tokens';
import { bearerToken } from '../../auth/bearer.ts';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import type { OwnTokens } from '../../auth/tokens/own-tokens.ts';
import { AuthError, NoConfiguration } from '../../basics/errors.ts';
import { admit } from '../../payments/decisions/admit.ts';
import type { Principal } from '../../payments/model/principal.ts';
import type { TransactionDependencies } from '../../payments/ports/transaction-dependencies.ts';
import { chooseProfile } from '../../payments/taps/apply-profile.ts';
import { linkOfToken } from '../../payments/taps/link-of-tap.ts';
import { sendUnlessKnown } from '../entity-tag.ts';
import { answerSchema, type Server } from '../server.ts';
import { terminalConfigView } from '../terminal-config-view.ts';
import { withZod } from '../with-zod.ts';

export interface TerminalConfigRouteOptions {
  readonly deps: Pick<TransactionDependencies, 'directory' | 'links'>;
  readonly ownTokens: Pick<OwnTokens, 'verify'>;
  readonly appTokens: Pick<AppTokens, 'open'>;
  /** URL of the public keys for readers. */
  readonly cardDataKeysUrl: () => string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The identity of the reader; set by the route's `onRequest`. */
    reader?: Principal;
  }
}

const readerHeaders = z.object({ 'x-device-installation-id': deviceInstallationId.optional() });

/**
 * The terminal's configuration, for a reader with a token of this terminal or of a link that is paid there
 * (extension).
 */
export function registerTerminalConfigRoute(server: Server, options: TerminalConfigRouteOptions): void {
  const { deps, cardDataKeysUrl } = options;
  withZod(server).route({
    method: 'GET',
    url: '/terminal/config',
    config: {
      facts: {
        summary: 'Get the configuration of a reader',
        name: 'getTerminalConfig',
        section: 'extension',
        takes: ['proximityToken', 'intentToken'],
        description:
          'Returns the settings that a card reader needs: floor limits, overrides by application, kernel and transaction type, currency and country. With `If-None-Match`, the response is 304 if nothing changed.',
        problems: { 403: [105, 139], 404: [122], 500: [208] },
      },
    },
    schema: { headers: readerHeaders, response: { 200: answerSchema(terminalConfig), 304: answerSchema(z.null()) } },
    onRequest: async (request) => {
      request.reader = await readerOf(options, bearerToken(request.headers.authorization));
    },
    handler: async (request, reply) => {
      const reader = request.reader!;
      const { merchant } = admit(deps, reader, request.headers['x-device-installation-id'] ?? '');
      const terminal = reader.xTid === null ? undefined : deps.directory.terminal(reader, reader.xTid);
      if (!terminal) throw new NoConfiguration('NO_TERMINAL');
      const profile = chooseProfile(deps.directory, reader);
      if (profile instanceof NoConfiguration) throw profile;
      const view = terminalConfigView({ merchant, terminal, profile, cardDataKeysUrl: cardDataKeysUrl() });
      return sendUnlessKnown(request, reply, view);
    },
  });
}

/** @throws AuthError, or NotFound for a link that was purged */
async function readerOf({ deps, ownTokens, appTokens }: TerminalConfigRouteOptions, token: string): Promise<Principal> {
  try {
    const claims = proximityTokenClaims.safeParse(await ownTokens.verify('proximity', token));
    if (!claims.success) throw new AuthError('JWT_INVALID', 'claims');
    const { sub, acquirerId, usr, 'x-tid': xTid, spCfg } = claims.data;
    return { acquirerId, merchantId: sub, userClaim: usr, xTid, profileName: spCfg ?? null };
  } catch (error) {
    if (!(error instanceof AuthError && error.check === 'use')) throw error;
  }
  // A payment app has only the token of its link.
  const { acquirerId, merchantId, id: consumerId } = await appTokens.open(token);
  const principal = { acquirerId, merchantId, consumerId, userClaim: null, xTid: null, profileName: null };
  const link = await linkOfToken(deps, principal);
  return { ...principal, xTid: link?.xTid ?? null };
}
