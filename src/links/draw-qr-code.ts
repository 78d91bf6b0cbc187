import QRCode from 'qrcode';

/**
 * The QR code of a link as a PNG in a data URL.
 *
 * @param size pixels of a side; where that is less than one for each module, the image is larger
 */
export function drawQrCode(url: string, size: number): Promise<string> {
  // A token is long and the screen that shows it is clean: the least redundancy keeps the modules large.
  return QRCode.toDataURL(url, { type: 'image/png', errorCorrectionLevel: 'L', width: size });
}
