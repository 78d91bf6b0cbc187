import { type CardTag, type ChipData, encodeTlv, fromHex, toHex } from '#processor-kit';
import type { IccElements, Type1Message } from './spec.ts';

type IccName = keyof IccElements;

/** The values for the card, in the order of `cardTags`: tag, element, and whether the element is text. */
const ISSUER_ELEMENTS: readonly (readonly [tag: string, name: IccName, isText: boolean])[] = [
  ['91', 'issuerAuthenticationData', false],
  ['71', 'issuerScriptTemplate1', false],
  ['72', 'issuerScriptTemplate2', false],
  ['8A', 'authorizationResponseCode', true],
];

/**
 * `<Name>value</Name>` with only letters and digits inside: the leaves of the document, regardless of their
 * position.
 */
const XML_LEAF = /<([A-Za-z0-9]{1,64})>([0-9A-Za-z ]*)<\/\1>/g;

const HEX = /^(?:[0-9A-F]{2})+$/;

/** 127.25 of a request, in the form that the switch accepts. */
export function chipFields(chip: ChipData, form: 'bitmap' | 'xml'): Pick<SwitchData, 'icc' | 'iccXml'> {
  const elements = requestElements(chip);
  return form === 'bitmap' ? { icc: elements } : { iccXml: writeXml('IccRequest', elements) };
}

/** 127.25 of a response, in the form of its request. */
export function issuerFields(tags: readonly CardTag[], request: Type1Message): Pick<SwitchData, 'icc' | 'iccXml'> {
  const elements = Object.fromEntries(
    ISSUER_ELEMENTS.flatMap(([tag, name, isText]) => {
      const value = tags.find((each) => each.tag === tag)?.value;
      return value === undefined ? [] : [[name, isText ? new TextDecoder().decode(fromHex(value)) : value]];
    }),
  ) as IccElements;
  if (request.switchData?.iccXml !== undefined) return { iccXml: writeXml('IccResponse', elements) };
  return request.switchData?.icc === undefined ? {} : { icc: elements };
}

/** The elements of 127.25 in either form; empty if there are none. */
export function iccOf(message: Type1Message): IccElements {
  const { icc, iccXml } = message.switchData ?? {};
  return icc ?? (iccXml === undefined ? {} : readXml(iccXml));
}

/** Tags 91, 71, 72 and 8A of a response, as hex. A value that is not hex is left out, because a card cannot use it. */
export function cardTagsOf(response: Type1Message): CardTag[] {
  const icc = iccOf(response);
  return ISSUER_ELEMENTS.flatMap(([tag, name, isText]) => {
    const element = icc[name];
    if (element === undefined) return [];
    const value = isText ? toHex(new TextEncoder().encode(element)) : element.toUpperCase();
    return HEX.test(value) ? [{ tag, value }] : [];
  });
}

/** The elements of a request that its cryptogram signs or that describe it, with their tags. */
const REQUEST_ELEMENTS: readonly (readonly [tag: number, name: IccName])[] = [
  [0x82, 'applicationInterchangeProfile'],
  [0x95, 'terminalVerificationResults'],
  [0x9a, 'transactionDate'],
  [0x9c, 'transactionType'],
  [0x5f2a, 'transactionCurrencyCode'],
  [0x9f02, 'amountAuthorized'],
  [0x9f03, 'amountOther'],
  [0x9f10, 'issuerApplicationData'],
  [0x9f1a, 'terminalCountryCode'],
  [0x9f26, 'cryptogram'],
  [0x9f27, 'cryptogramInformationData'],
  [0x9f34, 'cvmResults'],
  [0x9f36, 'applicationTransactionCounter'],
  [0x9f37, 'unpredictableNumber'],
];

/** 127.25 of a request as a switch passes it to the issuer in DE55; undefined if it has none. */
export function chipOf(request: Type1Message): Uint8Array | undefined {
  const icc = iccOf(request);
  const objects = REQUEST_ELEMENTS.flatMap(([tag, name]) => {
    const digits = icc[name]?.toUpperCase() ?? '';
    const hex = digits.length % 2 === 0 ? digits : `0${digits}`;
    return HEX.test(hex) ? [{ tag, value: fromHex(hex) }] : [];
  });
  return objects.length === 0 ? undefined : encodeTlv(objects);
}

type SwitchData = NonNullable<Type1Message['switchData']>;

/** The chip data of a request. Nothing outside this list is sent: no track, no PAN, no name. */
function requestElements(chip: ChipData): IccElements {
  return {
    amountAuthorized: lastDigits(chip, 0x9f02, 12),
    amountOther: lastDigits(chip, 0x9f03, 12),
    applicationIdentifier: chip.hex(0x84),
    applicationInterchangeProfile: chip.hex(0x82),
    applicationTransactionCounter: chip.hex(0x9f36),
    cryptogram: chip.hex(0x9f26),
    cryptogramInformationData: chip.hex(0x9f27),
    cvmResults: chip.hex(0x9f34),
    interfaceDeviceSerial: characters(chip, 0x9f1e),
    issuerApplicationData: chip.hex(0x9f10),
    terminalApplicationVersion: chip.hex(0x9f09),
    terminalCapabilities: chip.hex(0x9f33),
    terminalCountryCode: lastDigits(chip, 0x9f1a, 3),
    terminalType: lastDigits(chip, 0x9f35, 2),
    terminalVerificationResults: chip.hex(0x95),
    transactionCategoryCode: characters(chip, 0x9f53),
    transactionCurrencyCode: lastDigits(chip, 0x5f2a, 3),
    transactionDate: lastDigits(chip, 0x9a, 6),
    transactionSequenceCounter: lastDigits(chip, 0x9f41, 8),
    transactionType: lastDigits(chip, 0x9c, 2),
    unpredictableNumber: chip.hex(0x9f37),
  };
}

/** Packed decimals have an even number of digits; the element may have one fewer. */
function lastDigits(chip: ChipData, tag: number, count: number): string | undefined {
  return chip.hex(tag)?.slice(-count);
}

/** Text of the chip, which may contain any character: everything but letters and digits becomes a space. */
function characters(chip: ChipData, tag: number): string | undefined {
  const value = chip.value(tag);
  return (
    value &&
    Buffer.from(value)
      .toString('latin1')
      .replaceAll(/[^0-9A-Za-z ]/g, ' ')
      .trimEnd()
  );
}

/** XML and the bitmap form use the same names for elements; XML begins them with a capital letter. */
function writeXml(root: 'IccRequest' | 'IccResponse', elements: IccElements): string {
  const leaves = Object.entries(elements).map(([name, value]) => {
    if (value === undefined) return '';
    const element = name.charAt(0).toUpperCase() + name.slice(1);
    return `<${element}>${value}</${element}>`;
  });
  return `<?xml version="1.0"?><IccData><${root}>${leaves.join('')}</${root}></IccData>`;
}

function readXml(xml: string): IccElements {
  const elements: Record<string, string> = {};
  for (const [, element, value] of xml.matchAll(XML_LEAF)) {
    elements[element!.charAt(0).toLowerCase() + element!.slice(1)] = value!;
  }
  return elements;
}
