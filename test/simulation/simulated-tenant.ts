import type1 from '../../processors/type-1/index.ts';
import { sampleTap } from '../../src/card/sample-tap.ts';
import { encodeTlv, indexTlv } from '../../src/codecs/emv/tlv.ts';
import type { ProcessorProfile } from '../../src/kits/processor-kit/profile.ts';
import { type Link, LinkState } from '../../src/payments/model/link.ts';
import { TransactionType } from '../../src/payments/model/transaction.ts';
import type { Directory, Principal } from '../../src/payments/ports/directory-ports.ts';
import type { OpenedTap } from '../../src/payments/ports/switch-ports.ts';

const AMOUNT_MINOR = 1_000;
export const DEADLINE_MS = 5_000;

/** The same card each time: its data are not part of the simulation. */
export const TAP: OpenedTap = (() => {
  const at = new Date('2026-03-01T10:00:00Z');
  const values = sampleTap({ card: 'visa', amountMinor: AMOUNT_MINOR, currencyNumeric: '710', at });
  const bytes = encodeTlv([...values].map(([tag, value]) => ({ tag, value })));
  const index = indexTlv(bytes);
  return { general: index, payment: index, bytes: { general: bytes, payment: bytes } };
})();

export const KEPT = { pan: '4111111111111111', expiry: '3012' };
export const PRINCIPAL: Principal = {
  acquirerId: 1,
  merchantId: '1001',
  userClaim: null,
  xTid: 'TERM0001',
  profileName: null,
};

export const PROFILE: ProcessorProfile = { ...type1.profile, deadlineMs: DEADLINE_MS };

export const DIRECTORY: Directory = {
  hasIntegrator: () => true,
  merchant: (acquirerId, id) => ({
    acquirerId,
    id,
    integratorId: 10,
    name: 'Corner Coffee',
    street: '',
    city: '',
    country: 'ZA',
    mcc: '5814',
    currency: 'ZAR',
    timeZone: 'UTC',
    feesConfigId: null,
    fee: null,
  }),
  terminal: ({ merchantId }, xTid) => ({
    xTid,
    tid: xTid.replace('TERM', 'TW00'),
    mid: `TEST0000000${merchantId}`,
    canTakePin: true,
    profileName: null,
  }),
  terminalProfile: () => undefined,
  routes: () =>
    [1, 2].map((id) => ({
      id,
      processorId: id,
      priority: id,
      currency: null,
      scheme: null,
      xTid: null,
      isRemoved: false,
    })),
  isBlockedDevice: () => false,
  user: () => undefined,
  webhookEndpoint: () => 'b8f0d0c0-0000-4000-8000-000000000001',
  lostWindow: () => undefined,
};

/** The till of another merchant of the same acquirer, with the same card and amount. */
export const OTHER_MERCHANT: Principal = { ...PRINCIPAL, merchantId: '1002', xTid: 'TERM0002' };

/** Another acquirer, whose merchant and till have the same names. */
export const OTHER_ACQUIRER: Principal = { ...PRINCIPAL, acquirerId: 2 };

/** A link with the amount of every simulated tap. */
export function simulatedLink(id: string, nowMs: number): Omit<Link, 'isPast' | 'isHeld'> {
  return {
    acquirerId: 1,
    id,
    integratorId: 10,
    merchantId: PRINCIPAL.merchantId,
    kind: 'link',
    type: TransactionType.Tap,
    paymentReference: 'link-order',
    amountMinor: AMOUNT_MINOR,
    currency: 'ZAR',
    isConsumerApp: true,
    xTid: 'TERM0001',
    mandate: null,
    expiresAtMs: nowMs + 120_000,
    state: LinkState.QRCodeGenerated,
    transactionId: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}
