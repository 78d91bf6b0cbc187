import { z } from 'zod';
import { deviceInstallationId } from '#schemas/card-data';
import { type TerminalConfig, terminalConfig } from '#schemas/terminal-profile';
import { proximityTokenClaims } from '#schemas/tokens';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import type { OwnTokens } from '../../auth/tokens/gateway-tokens.ts';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import { AuthError, NoConfiguration } from '../../basics/errors.ts';
import { admit } from '../../payments/decisions/admit.ts';
import { findCountry } from '../../payments/model/countries.ts';
import { currencyOf, findCurrency } from '../../payments/model/money.ts';
import { PROFILE_TAGS, type TerminalProfile } from '../../payments/model/terminal-profile.ts';
import type { Directory, MerchantRecord, Principal, TerminalRecord } from '../../payments/ports/directory-ports.ts';
import type { LinkFinder } from '../../payments/ports/store-ports.ts';
import { chooseProfile } from '../../payments/taps/apply-profile.ts';
import { linkOfToken } from '../../payments/taps/link-of-tap.ts';
import { responseSchema, type Server } from '../server.ts';
import { sendUnlessKnown } from '../static-files.ts';
import { withZod } from '../with-zod.ts';

/** Terminal Floor Limit, for kernels without DF8123: 4 bytes, a binary number (EMV Book 3 Annex A). */
const BINARY_FLOOR_LIMIT = '9F1B';

/** The settings that determine how a reader takes cards. */
interface ConfiguredTerminal {
  readonly merchant: MerchantRecord;
  readonly terminal: TerminalRecord;
  /** Undefined if nothing is restricted. */
  readonly profile: TerminalProfile | undefined;
  readonly cardDataKeysUrl: string;
}

/** A terminal's configuration for a reader. The merchant's settings apply where the profile defines none. */
function terminalConfigView(configured: ConfiguredTerminal): TerminalConfig {
  const { merchant, terminal, profile, cardDataKeysUrl } = configured;
  const ownCurrency = profile?.terminalCurrencyCode && findCurrency(profile.terminalCurrencyCode);
  const currency = ownCurrency || currencyOf(merchant.currency);
  return {
    profile: profile?.name ?? null,
    xTid: terminal.xTid,
    canTakePin: terminal.canTakePin,
    merchantName: merchant.name,
    merchantCategoryCode: merchant.mcc,
    terminalCurrencyCode: currency.numeric,
    terminalCurrencyExponent: currency.exponent,
    terminalCountryCode: findCountry(merchant.country)?.numeric ?? '',
    floorLimits: profile ? floorLimitsOf(profile) : [],
    overrides: profile?.overrides ?? [],
    cardDataKeysUrl,
  };
}

function floorLimitsOf({ overrides }: TerminalProfile): TerminalConfig['floorLimits'] {
  return overrides.flatMap(({ aid, kernelID, transactionTypeConfigs = [] }) =>
    transactionTypeConfigs.flatMap(({ transactionType, tlvDatabase = [] }) => {
      const find = (wanted: string) => tlvDatabase.find(({ tag }) => tag === wanted)?.value;
      const digits = find(PROFILE_TAGS.floorLimit);
      const binary = find(BINARY_FLOOR_LIMIT);
      if (digits === undefined && binary === undefined) return [];
      const floorLimit = digits === undefined ? Number.parseInt(binary!, 16) : Number(digits);
      return [{ aid, kernelID, transactionType, floorLimit }];
    }),
  );
}

export interface TerminalConfigRouteOptions {
  readonly directory: Directory;
  readonly links: LinkFinder;
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
  const { directory, cardDataKeysUrl } = options;
  withZod(server).route({
    method: 'GET',
    url: '/terminal/config',
    config: {
      facts: {
        summary: 'Get the configuration of a reader',
        section: 'extension',
        takes: ['proximityToken', 'intentToken'],
        description:
          'Returns the settings that a card reader needs: floor limits, overrides by application, kernel and transaction type, currency and country. With `If-None-Match`, the response is 304 if nothing changed.',
        problems: { 403: [105, 139], 404: [122], 500: [208] },
      },
    },
    schema: {
      headers: readerHeaders,
      response: { 200: responseSchema(terminalConfig), 304: responseSchema(z.null()) },
    },
    onRequest: async (request) => {
      request.reader = await readerOf(options, bearerToken(request.headers.authorization));
    },
    handler: async (request, reply) => {
      const reader = request.reader!;
      const { merchant } = admit({ directory }, reader, request.headers['x-device-installation-id'] ?? '');
      const terminal = reader.xTid === null ? undefined : directory.terminal(reader, reader.xTid);
      if (!terminal) throw new NoConfiguration('NO_TERMINAL');
      const profile = chooseProfile(directory, reader);
      if (profile instanceof NoConfiguration) throw profile;
      const view = terminalConfigView({ merchant, terminal, profile, cardDataKeysUrl: cardDataKeysUrl() });
      return sendUnlessKnown(request, reply, view);
    },
  });
}

/** @throws AuthError, or NotFound for a link that was purged */
async function readerOf(
  { links, ownTokens, appTokens }: TerminalConfigRouteOptions,
  token: string,
): Promise<Principal> {
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
  const link = await linkOfToken(links, principal);
  return { ...principal, xTid: link?.xTid ?? null };
}
