import { fromHex } from '../../codecs/bytes/hex.ts';
import { indexTlv } from '../../codecs/emv/tlv.ts';
import type { Purchase } from './purchase.ts';

const CHIPS = {
  Visa:
    '8407A0000000031010820220009F36020A1B9F26081122334455667788950500000000009A032611209C01005F2A0207109F02060000000012' +
    '349F03060000000000009F090200969F100706010A03A000009F1A0207109F1E0831323334353637389F2701809F33030008C89F34031F03' +
    '029F3501219F3704DEADBEEF9F410400000042',
  Mastercard:
    '8407A0000000041010820219809F36020A1B9F26081122334455667788950500000080009A032611209C01005F2A0207109F02060000000012' +
    '349F03060000000000009F090200029F10120110A00003220000000000000000000000FF9F1A0207109F2701809F33030008C89F34031F0302' +
    '9F3501229F3704DEADBEEF9F6E04002000009F530152',
} as const;

/**
 * A tap of 12.34 ZAR on 20 November 2026 at 14:10:05 UTC, in Cape Town, for the samples of a processor type. Only the
 * terminal of the Mastercard can take a PIN.
 */
export function samplePurchase(scheme: keyof typeof CHIPS): Purchase {
  const isVisa = scheme === 'Visa';
  const pan = isVisa ? '4111111111111111' : '5413330089010640';
  return {
    stan: '000123',
    rrn: '632414000123',
    sentAtMs: Date.UTC(2026, 10, 20, 14, 10, 5),
    localDateTime: '20261120161005',
    amount: { amountMinor: 1_234, currency: 'ZAR', currencyNumeric: '710' },
    card: { pan, track2: `${pan}D3012201000000000000`, expiry: '3012', panSequence: '001', scheme },
    chip: indexTlv(fromHex(CHIPS[scheme])),
    terminal: isVisa
      ? { tid: 'TERM0001', mid: 'MERCHANT0000001', canTakePin: false }
      : { tid: 'TERM0002', mid: 'MERCHANT0000002', canTakePin: true },
    merchant: { name: 'Corner Shop', city: 'Cape Town', country: 'ZA', mcc: '5411' },
  };
}
