import QRCode from 'qrcode';
import { encodeBase32 } from './totp.ts';

/** Name under which authenticator apps list the code. */
const ISSUER = 'Tapwire';

/** What a person needs to add the secret to an authenticator app. */
export interface EnrolmentCode {
  /** To type, for an app that cannot scan. */
  readonly secret: string;
  /** QR code: modules of a side, and the dark ones as an SVG path of one unit per module. */
  readonly size: number;
  readonly path: string;
}

/** The page draws the code itself, because its policy allows no pictures in data URLs. */
export function enrolmentCode(username: string, secretBytes: Uint8Array): EnrolmentCode {
  const secret = encodeBase32(secretBytes);
  const label = `${ISSUER}:${encodeURIComponent(username)}`;
  const url = `otpauth://totp/${label}?${new URLSearchParams({ secret, issuer: ISSUER })}`;
  const { modules } = QRCode.create(url, { errorCorrectionLevel: 'M' });
  const dark: string[] = [];
  for (let row = 0; row < modules.size; row++)
    for (let column = 0; column < modules.size; column++)
      if (modules.get(row, column) === 1) dark.push(`M${column} ${row}h1v1h-1z`);
  return { secret, size: modules.size, path: dark.join('') };
}
