import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Finding, fault, good, warning } from './finding.ts';

const DAY_MS = 86_400_000;
/** Time to obtain a new certificate by hand when renewal is not automatic. */
const WARN_DAYS = 21;

/** Whether a certificate can be used with its key, and until when. */
export async function certificateFindings(
  part: string,
  files: { readonly certFile: string; readonly keyFile: string | undefined },
  nowMs: number,
): Promise<Finding[]> {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(await readFile(files.certFile));
    if (files.keyFile !== undefined && !certificate.checkPrivateKey(createPrivateKey(await readFile(files.keyFile)))) {
      return [
        fault(part, `${files.keyFile} is not the key of ${files.certFile}`, 'install a matching certificate and key'),
      ];
    }
  } catch {
    const names = [files.certFile, files.keyFile].filter(Boolean).join(' or ');
    return [fault(part, `${names} cannot be read, or is not PEM`, 'check path, rights and content')];
  }
  const days = Math.floor((certificate.validToDate.getTime() - nowMs) / DAY_MS);
  const until = `${files.certFile} is valid until ${certificate.validToDate.toISOString()}`;
  if (certificate.validFromDate.getTime() > nowMs)
    return [fault(part, `${files.certFile} is not valid yet`, 'wait, or check the clock')];
  if (days < 0)
    return [fault(part, `${until}: it has expired`, 'renew it; the gateway loads the new file automatically')];
  if (days < WARN_DAYS)
    return [warning(part, `${until}: ${days} days`, 'renew it; the gateway loads the new file automatically')];
  return [good(part, until)];
}
