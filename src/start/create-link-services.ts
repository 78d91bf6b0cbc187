import type { LinkServices } from '../payments/links/create-link.ts';
import type { IntentTokens } from '../payments/ports/link-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { Config } from './config.ts';
import type { Stores } from './open-stores.ts';

export interface LinkServicesParts {
  readonly config: Pick<Config, 'LINK_MINUTES' | 'APP_URL'>;
  readonly stores: Pick<Stores, 'links' | 'directory'>;
  readonly deps: Pick<TransactionDependencies, 'clock' | 'newId'>;
}

/** The services that create links need, for routes and for push payments. */
export function createLinkServices(
  { config, stores: { links, directory }, deps }: LinkServicesParts,
  tokens: IntentTokens,
  origin: () => string,
): LinkServices {
  return {
    links,
    tokens,
    directory,
    merchants: directory,
    clock: deps.clock,
    newId: deps.newId,
    lifetimeMinutes: config.LINK_MINUTES,
    appUrl: () => config.APP_URL ?? origin(),
  };
}
